// SPDX-License-Identifier: Apache-2.0
// How bytes of pictures and real numbers become the integers that a network of integers takes.
#pragma once

#include <cstddef>
#include <cstdint>
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

  std::int32_t operator()(double value) const;  // NaN: 0, or what is nearest to it

 private:
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
