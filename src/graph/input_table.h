// SPDX-License-Identifier: Apache-2.0
// How bytes of pictures and real numbers become the integers that a network of integers takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Of value = x·scale the integer x = clamp(R(value / scale), low, high), in double. R is to the
// nearest, ties away from zero where the format says so, else to even. Low and high are the ends of
// the format less its zero; -127 and 127 for networks that were trained in integers.
class InputRounder {
 public:
  // Throws unless it is a format of integers of at most 16 bits with one scale.
  explicit InputRounder(const Precision& precision);

  std::int32_t operator()(double value) const {  // NaN: 0, or what is nearest to it
    return is_away_ ? rounded<true>(value) : rounded<false>(value);
  }
  // put(index, integer) for each of the numbers.
  template <class Put>
  void for_each(std::span<const float> numbers, const Put& put) const {
    is_away_ ? round_each<true>(numbers, put) : round_each<false>(numbers, put);
  }

 private:
  // Numbers of this size have no fraction: a sum with it is rounded to the nearest integer, to the
  // even one of two.
  static constexpr double kWhole = 0x1.8p52;

  template <bool is_away>
  std::int32_t rounded(double value) const {
    const double number = std::isnan(value) ? 0 : value;
    const double scaled = std::clamp(number / scale_, low_, high_);  // the ends are integers
    return static_cast<std::int32_t>(is_away ? std::round(scaled) : (scaled + kWhole) - kWhole);
  }
  template <bool is_away, class Put>
  void round_each(std::span<const float> numbers, const Put& put) const {
    for (std::size_t i = 0; i < numbers.size(); ++i) put(i, rounded<is_away>(double{numbers[i]}));
  }

  double scale_ = 1;
  double low_ = 0;
  double high_ = 0;
  bool is_away_ = false;
};

// What a byte of a picture stands for: (byte / 255 - mean[channel]) / deviation[channel].
double normalized(const Input& input, std::size_t channel, double byte);

// The integers of the bytes 0 to 255 for each of `channels`, one table after the other.
std::vector<std::int32_t> input_table(const Input& input, const Precision& precision,
                                      std::size_t channels);

}  // namespace nibble::inline graph
