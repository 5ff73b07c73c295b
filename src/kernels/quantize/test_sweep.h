// SPDX-License-Identifier: Apache-2.0
// For tests: long runs of fp32 bit patterns through every path, compared with the definition.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/isa.h"
#include "kernels/quantize/kernels.h"
#include "kernels/quantize/quantize_paths.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

// The formats whose 2^32 inputs are tried: every family, with and without NaN and infinity.
inline constexpr const char* kSweptFormats[] = {"e4m3", "e5m2", "e2m1", "posit(8,1)", "fixed(8,4)"};

// The paths of quantize that this machine has, beside the definition.
inline std::vector<Isa> swept_paths() {
  std::vector<Isa> paths;
  for (const auto& [isa, kernels] : supported_paths(kQuantizePaths)) {
    if (kernels != nullptr) paths.push_back(isa);
  }
  return paths;
}

struct Difference {
  Isa isa = Isa::reference;
  std::uint32_t input = 0;
  float got = 0;
  float expected = 0;
};

// A format without scaling on patterns first, first + stride, …, chunk after chunk.
class Sweep {
 public:
  Sweep(const Format& format, const QuantizeOptions& options, std::size_t chunk)
      : format_(format), options_(options), input_(chunk), expected_(chunk), got_(chunk) {}

  // The first difference among `count` patterns, at most a chunk of them.
  std::optional<Difference> run(std::uint64_t first, std::uint64_t stride, std::size_t count) {
    constexpr std::size_t kGrain = 1 << 12;
    parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        input_[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * stride));
        expected_[i] = static_cast<float>(round_to(format_.element, static_cast<double>(input_[i]),
                                                   options_.rounding, options_.overflow,
                                                   draw_of(options_, i)));
      }
    });
    for (const Isa isa : swept_paths()) {
      set_isa(isa);
      quantize(view_of(std::span<const float>(input_.data(), count)),
               view_of(std::span<float>(got_.data(), count)), format_, options_);
      reset_isa();
      if (last_isa_used() != isa) return Difference{isa, 0, 0, 0};
      if (const auto difference = compare(isa, count)) return difference;
    }
    return std::nullopt;
  }

 private:
  // Equal bits, or NaN in both.
  std::optional<Difference> compare(Isa isa, std::size_t count) const {
    if (std::memcmp(got_.data(), expected_.data(), count * sizeof(float)) == 0) return {};
    for (std::size_t i = 0; i < count; ++i) {
      const bool same_bits =
          std::bit_cast<std::uint32_t>(got_[i]) == std::bit_cast<std::uint32_t>(expected_[i]);
      if (same_bits || (std::isnan(got_[i]) && std::isnan(expected_[i]))) continue;
      return Difference{isa, std::bit_cast<std::uint32_t>(input_[i]), got_[i], expected_[i]};
    }
    return std::nullopt;
  }

  Format format_;
  QuantizeOptions options_;
  std::vector<float> input_;
  std::vector<float> expected_;
  std::vector<float> got_;
};

}  // namespace nibble::inline kernels
