// SPDX-License-Identifier: Apache-2.0
// Memory of values and errors: taken, given back, used again.
#include "train/buffer_pool.h"

#include <algorithm>
#include <utility>

namespace nibble {
namespace {

// Capacities are rounded up so that the shorter last batch of an epoch finds its buffers again.
constexpr std::int64_t kGranule = 1024;

// A free buffer up to this much larger than asked for is taken; a larger one waits for its own.
constexpr double kWaste = 1.25;

}  // namespace

Buffer::Buffer(BufferPool* pool, Tensor memory, std::int64_t floats)
    : pool_(pool), memory_(std::move(memory)), floats_(floats) {}

Buffer::~Buffer() {
  release();
}

Buffer::Buffer(Buffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      memory_(std::move(other.memory_)),
      floats_(std::exchange(other.floats_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  memory_ = std::move(other.memory_);
  floats_ = std::exchange(other.floats_, 0);
  return *this;
}

void Buffer::release() {
  if (pool_ == nullptr) return;
  std::exchange(pool_, nullptr)->give_back(std::move(memory_));
  floats_ = 0;
}

Buffer BufferPool::take(std::int64_t floats) {
  const std::int64_t wanted =
      std::max<std::int64_t>(1, (floats + kGranule - 1) / kGranule) * kGranule;
  const auto found = free_.lower_bound(wanted);
  Tensor memory;
  if (found != free_.end() &&
      static_cast<double>(found->first) <= kWaste * static_cast<double>(wanted)) {
    memory = std::move(found->second);
    free_.erase(found);
  } else {
    memory = Tensor(DType::f32, {wanted});
  }
  in_use_ += memory.bytes();
  peak_ = std::max(peak_, in_use_);
  return {this, std::move(memory), floats};
}

void BufferPool::give_back(Tensor memory) {
  in_use_ -= memory.bytes();
  free_.emplace(memory.elements(), std::move(memory));
}

}  // namespace nibble
