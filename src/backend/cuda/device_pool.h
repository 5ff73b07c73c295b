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

#include "backend/cuda/buffer_plan.h"
#include "backend/cuda/device_queue.h"

namespace nibble::cuda {

class DevicePool;

// Bytes on loan from a pool, aligned to 256; they go back when the buffer dies. Work that is still
// queued may use them: who gets them next is queued behind it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DevicePool* pool, void* data, const BufferPlan::Loan& loan)
      : pool_(pool), data_(data), loan_(loan) {}
  ~DeviceBuffer() { release(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  template <class T = std::int8_t>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t size() const { return loan_.bytes; }
  bool is_empty() const { return data_ == nullptr; }
  void release();

 private:
  DevicePool* pool_ = nullptr;
  void* data_ = nullptr;
  BufferPlan::Loan loan_ = {};
};

// Buffers that have a place in the plan of a step lie in one piece of memory; others are lent by
// their size, the lowest address first.
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

  void begin_step(const StepKind& kind) { plan_.begin(kind); }
  bool end_step() { return plan_.end(); }  // true: find_places() would help
  void find_places();                      // all work must be done
  void trim();  // gives the GPU what nobody has on loan, and forgets places; all work must be done
  // For whom memory is taken, as an error says where there is no more.
  void set_purpose(std::string purpose) { purpose_ = std::move(purpose); }
  std::size_t peak_bytes() const { return peak_; }  // on loan at once
  std::size_t held_bytes() const { return held_; }  // of the GPU

 private:
  friend class DeviceBuffer;
  struct Lent {
    void* data;
    BufferPlan::Loan loan;
  };
  void* allocate(std::size_t size);
  void free_planned();
  void free_spare();
  void give_back(const Lent& lent);

  Place place_;
  BufferPlan plan_;
  void* planned_ = nullptr;  // where all places are
  std::size_t planned_bytes_ = 0;
  std::map<std::size_t, std::set<void*>> free_;  // without a place, by size
  std::map<void*, std::size_t> all_;             // allocated, with their sizes
  bool keeps_back_ = false;
  std::vector<Lent> kept_back_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  std::size_t held_ = 0;
  std::string purpose_ = "weights and data";
};

}  // namespace nibble::cuda
