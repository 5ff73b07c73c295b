// SPDX-License-Identifier: Apache-2.0
// Memory that an engine's runs read and write fastest.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace nibble::inline engine {

enum class BufferPlace : unsigned char {
  host,    // pinned where the device is a GPU
  device,  // the device's own: the host reads and writes it by `read` and `write` alone
};

// It may outlive its engine.
class EngineBuffer {
 public:
  using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);
  EngineBuffer(std::shared_ptr<std::byte> memory, std::size_t size, Copy copy)
      : memory_(std::move(memory)), size_(size), copy_(copy) {}

  std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

  // From byte `at` on; at most its size. The other side may be memory of the host or of the same
  // device.
  void write(std::span<const std::byte> from, std::size_t at = 0) const;
  void read(std::span<std::byte> to, std::size_t at = 0) const;

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t size_;
  Copy copy_;
};

}  // namespace nibble::inline engine
