// SPDX-License-Identifier: Apache-2.0
// Memory that nibble_allocate gave and that C knows by its address alone.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/engine/engine_buffer.h"

namespace nibble::inline engine {

class GivenMemory {
 public:
  void* give(EngineBuffer buffer) {
    std::byte* first = buffer.bytes().data();
    const std::lock_guard lock(mutex_);
    buffers_.emplace(first, std::move(buffer));
    return first;
  }
  void take_back(void* memory) {
    const std::lock_guard lock(mutex_);
    if (buffers_.erase(static_cast<const std::byte*>(memory)) == 0)
      throw Error("engine", "memory", "other", "what nibble_allocate gave");
  }
  // Copies are made outside of the lock.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (const auto known = find(to))
      return known->write({from, bytes}, static_cast<std::size_t>(to - known->bytes().data()));
    if (const auto known = find(from))
      return known->read({to, bytes}, static_cast<std::size_t>(from - known->bytes().data()));
    throw Error("engine", "copy", "memory of others", "what nibble_allocate gave");
  }

 private:
  std::optional<EngineBuffer> find(const std::byte* address) const {
    const std::lock_guard lock(mutex_);
    auto behind = buffers_.upper_bound(address);
    if (behind == buffers_.begin()) return {};
    const EngineBuffer& buffer = (--behind)->second;
    if (address >= behind->first + buffer.bytes().size()) return {};
    return buffer;
  }

  mutable std::mutex mutex_;
  std::map<const std::byte*, EngineBuffer, std::less<>> buffers_;
};

}  // namespace nibble::inline engine
