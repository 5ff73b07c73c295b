// SPDX-License-Identifier: Apache-2.0
// Memory of values and errors: taken, given back, used again; remembers the most that was in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble {

class BufferPool;

// Floats on loan from a pool; they go back when the buffer dies.
class Buffer {
 public:
  Buffer() = default;
  Buffer(BufferPool* pool, Tensor memory, std::int64_t floats);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  float* data() const { return reinterpret_cast<float*>(memory_.data()); }
  std::int64_t floats() const { return floats_; }
  bool is_empty() const { return pool_ == nullptr; }
  void release();

 private:
  BufferPool* pool_ = nullptr;
  Tensor memory_;
  std::int64_t floats_ = 0;
};

class BufferPool {
 public:
  Buffer take(std::int64_t floats);

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t peak_bytes() const { return peak_; }

 private:
  friend class Buffer;
  void give_back(Tensor memory);

  std::multimap<std::int64_t, Tensor> free_;  // by capacity in floats
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace nibble
