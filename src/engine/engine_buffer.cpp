// SPDX-License-Identifier: Apache-2.0
// Fills buffers and reads them.
#include "nibble/engine/engine_buffer.h"

#include <fmt/format.h>

#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

void check_room(std::size_t bytes, std::size_t size) {
  if (bytes > size)
    throw Error("engine", "buffer", fmt::format("{} bytes", bytes),
                fmt::format("at most {}", size));
}

}  // namespace

void EngineBuffer::write(std::span<const std::byte> from, std::size_t at) const {
  check_room(at, size_);
  check_room(from.size(), size_ - at);
  copy_(memory_.get() + at, from.data(), from.size());
}

void EngineBuffer::read(std::span<std::byte> to, std::size_t at) const {
  check_room(at, size_);
  check_room(to.size(), size_ - at);
  copy_(to.data(), memory_.get() + at, to.size());
}

}  // namespace nibble::inline engine
