// SPDX-License-Identifier: Apache-2.0
// Memory of values and errors: taken, given back, used again.
#include "core/buffer_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/checked.h"
#include "nibble/core/limits.h"

namespace nibble::inline core {
namespace {

// Capacities are rounded up so that the shorter last batch of an epoch finds its buffers again.
constexpr std::int64_t kGranule = 4096;

// A free buffer up to a quarter larger than asked for is taken; a larger one waits for its own.
constexpr bool is_near(std::int64_t capacity, std::int64_t wanted) {
  return capacity - wanted <= wanted / 4;
}

// Beyond so many bytes, free buffers of other sizes do not wait for their turn.
constexpr std::size_t kHeld = std::size_t{128} << 20;

}  // namespace

Buffer::Buffer(BufferPool* pool, Tensor memory) : pool_(pool), memory_(std::move(memory)) {}

Buffer::~Buffer() {
  release();
}

Buffer::Buffer(Buffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), memory_(std::move(other.memory_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  memory_ = std::move(other.memory_);
  return *this;
}

void Buffer::release() {
  if (pool_ == nullptr) return;
  std::exchange(pool_, nullptr)->give_back(std::move(memory_));
}

Buffer BufferPool::take_bytes(std::int64_t bytes) {
  const std::int64_t wanted = checked_round_up(std::max<std::int64_t>(bytes, 1), kGranule);
  check_limit("memory", checked_sum(static_cast<std::int64_t>(in_use_), wanted), "memory",
              "bytes of values and errors of a batch");
  const auto found = free_.lower_bound(wanted);
  Tensor memory;
  if (found != free_.end() && is_near(found->first, wanted)) {
    memory = std::move(found->second);
    free_.erase(found);
    waiting_ -= memory.bytes();
  } else {
    make_room(wanted);
    memory = Tensor(DType::u8, {wanted});
  }
  in_use_ += memory.bytes();
  peak_ = std::max(peak_, in_use_);
  return {this, std::move(memory)};
}

// Where much is held, no more is than was once in use or has to be now.
void BufferPool::make_room(std::int64_t wanted) {
  const std::size_t needed = in_use_ + static_cast<std::size_t>(wanted);
  while (!free_.empty() && needed + waiting_ > std::max({kHeld, peak_, needed})) {
    const auto largest = std::prev(free_.end());
    waiting_ -= largest->second.bytes();
    free_.erase(largest);
  }
}

void BufferPool::give_back(Tensor memory) {
  in_use_ -= memory.bytes();
  waiting_ += memory.bytes();
  free_.emplace(memory.elements(), std::move(memory));
}

}  // namespace nibble::inline core
