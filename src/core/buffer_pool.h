// SPDX-License-Identifier: Apache-2.0
// Memory of values and errors: taken, given back, used again; remembers the most that was in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline core {

class BufferPool;

// Bytes on loan from a pool, 64-byte aligned; they go back when the buffer dies.
class Buffer {
 public:
  Buffer() = default;
  Buffer(BufferPool* pool, Tensor memory);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.data());
  }
  bool is_empty() const { return pool_ == nullptr; }
  void release();

 private:
  BufferPool* pool_ = nullptr;
  Tensor memory_;
};

class BufferPool {
 public:
  template <class T>
  Buffer take(std::int64_t count) {
    return take_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  }

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t peak_bytes() const { return peak_; }
  std::size_t held_bytes() const { return in_use_ + waiting_; }  // with what waits for its turn

 private:
  friend class Buffer;
  Buffer take_bytes(std::int64_t bytes);
  void give_back(Tensor memory);
  void make_room(std::int64_t wanted);

  std::multimap<std::int64_t, Tensor> free_;  // by capacity
  std::size_t in_use_ = 0;
  std::size_t waiting_ = 0;  // bytes of free_
  std::size_t peak_ = 0;
};

}  // namespace nibble::inline core
