// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU: taken, given back, used again. The same calls give the same addresses, so that a
// recorded step can be replayed.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/device_queue.h"

namespace nibble::cuda {

class DevicePool;

// Bytes on loan from a pool, aligned to 256; they go back when the buffer dies. Work that is still
// queued may use them: who gets them next is queued behind it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DevicePool* pool, void* data, std::size_t size)
      : pool_(pool), data_(data), size_(size) {}
  ~DeviceBuffer() { release(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  template <class T = std::int8_t>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t size() const { return size_; }
  bool is_empty() const { return data_ == nullptr; }
  void release();

 private:
  DevicePool* pool_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class DevicePool {
 public:
  explicit DevicePool(const Place& place) : place_(place) {}
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  DeviceBuffer take(std::size_t bytes);
  // What goes back from now on is lent again only after lend_again(): work runs beside other work.
  void keep_back() { keeps_back_ = true; }
  void lend_again();
  void trim();  // gives the GPU what nobody has on loan; all work must be done
  // For whom memory is taken, as an error says where there is no more.
  void set_purpose(std::string purpose) { purpose_ = std::move(purpose); }
  std::size_t peak_bytes() const { return peak_; }

 private:
  friend class DeviceBuffer;
  void count(std::size_t size);
  void give_back(void* data, std::size_t size);

  Place place_;
  std::map<std::size_t, std::set<void*>> free_;  // by size; the lowest address goes first
  std::vector<void*> all_;
  bool keeps_back_ = false;
  std::vector<std::pair<void*, std::size_t>> kept_back_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  std::string purpose_ = "weights and data";
};

}  // namespace nibble::cuda
