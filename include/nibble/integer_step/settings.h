// SPDX-License-Identifier: Apache-2.0
// The choices of integer-only training; docs/integer-training.md says what each does to numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nibble/backend/rules.h"
#include "nibble/laws/shift_rounding.h"

namespace nibble::inline integer_step {

struct RoundingChoice {
  ShiftRounding value = ShiftRounding::nearest;
  ShiftRounding error = ShiftRounding::nearest;
  ShiftRounding gradient = ShiftRounding::pseudo_stochastic;
  bool operator==(const RoundingChoice&) const = default;
};

// For all layers, and for some by name.
struct IntegerRoundings {
  RoundingChoice all;
  std::vector<std::pair<std::string, RoundingChoice>> layers = {};

  const RoundingChoice& of(std::string_view layer) const {
    for (const auto& [name, choice] : layers) {
      if (name == layer) return choice;
    }
    return all;
  }
};

// What a frozen batch norm knows of its values: what calibration images show, or a running mean of
// what the batches that trained were like.
enum class FrozenStatistics : std::uint8_t { calibrated, running };

struct IntegerOptions {
  std::uint64_t seed = 1;
  ShiftRule rule = ShiftRule::exact;
  CrossEntropyForm form = CrossEntropyForm::fractional;
  UpdateRule update = {};  // of the first step; what changes from step to step is told later
  int residual_bits = 0;  // by which the first weights of layers that only an add reads are smaller
  IntegerRoundings roundings = {};
  FrozenStatistics statistics = FrozenStatistics::calibrated;
  std::vector<std::string> frozen =
      {};                      // layers whose weights stay, by name; * any text, ? a letter
  std::string device = "cpu";  // who computes; it changes no number
  std::string place = {};      // "conv*=cuda, fc.update=cpu": passes that others compute
};

}  // namespace nibble::inline integer_step
