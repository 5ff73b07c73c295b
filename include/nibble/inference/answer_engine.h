// SPDX-License-Identifier: Apache-2.0
// An engine, and what the integers it answers with stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibble/engine/engine.h"
#include "nibble/graph/network.h"

namespace nibble::inline inference {

class AnswerEngine {
 public:
  // A last rescale with a divisor is not run: what enters it is divided instead.
  explicit AnswerEngine(Model model, const EngineOptions& options = {});

  const Engine& engine() const { return engine_; }
  const Network& network() const { return parts_.network; }  // of integers, whole
  bool has_divisor() const { return !parts_.divisor.empty(); }
  bool gives_class() const {  // its last layer is an arg_max
    return answers_ == Answers::classes;
  }

  // Integers of engine().output() as real numbers: divided in float by the divisor of their
  // channel, or multiplied by the scale of the layer's format, 1 where it has none.
  void to_reals(std::span<const std::byte> integers, std::span<float> reals) const;

  // Of each answer the class with the largest real number, of equal ones the first; or what the
  // arg_max says.
  void find_classes(std::span<const std::byte> integers, std::span<std::int32_t> classes) const;

 private:
  struct Parts {
    Network network;
    std::vector<float> divisor;  // empty: none
    float scale = 1;
    Model model;  // until the engine has it
  };
  static Parts parts_of(Model model);

  // What the integers tell of the class: only their reals do, their order does, or they are it.
  enum class Answers : std::uint8_t { reals, in_order, classes };

  Parts parts_;
  Engine engine_;
  Answers answers_ = Answers::reals;
};

// The indices of the `count` largest numbers, largest first, of equal ones the first.
std::vector<std::int32_t> largest(std::span<const float> reals, std::size_t count);

}  // namespace nibble::inline inference
