// SPDX-License-Identifier: Apache-2.0
// What the steps of a network read and never write: weights, biases, multipliers, tables, brought
// to the GPU once.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/cuda/device_pool.h"

namespace nibble::inline engine {

class DeviceConstants {
 public:
  explicit DeviceConstants(int device) : place_{.device = device}, pool_(place_) {}

  // Lives as long as this.
  template <class Number>
  const Number* keep(const std::vector<Number>& numbers) {
    return static_cast<const Number*>(keep_bytes(numbers.data(), numbers.size() * sizeof(Number)));
  }

  void wait() const { cuda::wait_for(place_); }  // until all of it is there
  std::size_t bytes() const { return bytes_; }

 private:
  const void* keep_bytes(const void* from, std::size_t bytes);

  cuda::Place place_;
  cuda::DevicePool pool_;
  std::vector<cuda::DeviceBuffer> buffers_;
  std::size_t bytes_ = 0;
};

}  // namespace nibble::inline engine
