// SPDX-License-Identifier: Apache-2.0
// How quick a device that pretends is, and how long it lasts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "backend/pretend/pretend_backend.h"

namespace nibble::inline backend {

class PretendPace {
 public:
  explicit PretendPace(const PretendOptions& options) : options_(options) {}

  // Returns when a copy of so many bytes would have ended.
  void copy(std::size_t bytes) const;

  // Does an operation, which takes as much longer as the options say. Throws where the device is
  // gone.
  template <class Work>
  void operate(const Work& work) {
    count_operation();
    const auto begin = std::chrono::steady_clock::now();
    work();
    slow_down(begin);
  }

 private:
  void count_operation();
  void slow_down(std::chrono::steady_clock::time_point begin) const;

  PretendOptions options_;
  std::int64_t operations_ = 0;
};

}  // namespace nibble::inline backend
