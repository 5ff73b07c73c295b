// SPDX-License-Identifier: Apache-2.0
// Seconds of what benches run, and the middle of many.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace nibble {

template <class Body>
double seconds_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace nibble
