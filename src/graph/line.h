// SPDX-License-Identifier: Apache-2.0
// y = factor·x + offset, by channel: what a batch norm does.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace nibble::inline graph {

struct Line {
  std::vector<double> factor;
  std::vector<double> offset;
};

// A linear layer of x that gives what it gave of y: W·(factor·x + offset) + b.
inline void take_line(const Line& line, std::span<float> weight, std::span<float> bias) {
  const std::size_t features = line.factor.size();
  for (std::size_t o = 0; o < bias.size(); ++o) {
    auto sum = static_cast<double>(bias[o]);
    for (std::size_t c = 0; c < features; ++c) {
      float& w = weight[o * features + c];
      sum += static_cast<double>(w) * line.offset[c];
      w = static_cast<float>(static_cast<double>(w) * line.factor[c]);
    }
    bias[o] = static_cast<float>(sum);
  }
}

}  // namespace nibble::inline graph
