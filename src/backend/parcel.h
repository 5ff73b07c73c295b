// SPDX-License-Identifier: Apache-2.0
// Numbers between a backend and the host, on their way while both work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace nibble::inline backend {

// From where a device's copies start and where they end on the host.
enum class WireKind : std::uint8_t {
  pinned,    // pages that stay where they are: copies run beside host and device
  pageable,  // any memory: the host waits for every copy
  mapped,    // memory of the host that the device reads and writes itself: there are no copies
};
std::string_view name_of(WireKind kind);

// From a backend to the host, with the exponent.
class Departure {
 public:
  virtual ~Departure() = default;
  // Both wait for the copy; the bytes live as long as this.
  virtual std::span<const std::byte> bytes() = 0;
  virtual int exponent() = 0;
};

// From the host to a backend.
class Landing {
 public:
  virtual ~Landing() = default;
  virtual std::span<std::byte> room() = 0;  // to be filled
  virtual void send(int exponent) = 0;      // the copy begins
  virtual void settle() {}                  // waits for it
};

// Numbers that are on the host already.
class StoredParcel final : public Departure, public Landing {
 public:
  explicit StoredParcel(std::size_t bytes) : memory_(bytes) {}
  StoredParcel(std::vector<std::byte> memory, int exponent)
      : memory_(std::move(memory)), exponent_(exponent) {}

  std::span<const std::byte> bytes() override { return memory_; }
  int exponent() override { return exponent_; }
  std::span<std::byte> room() override { return memory_; }
  void send(int exponent) override { exponent_ = exponent; }

 private:
  std::vector<std::byte> memory_;
  int exponent_ = 0;
};

// Bytes as numbers of another type: memory of parcels is aligned for all of them.
template <class Number>
std::span<const Number> numbers_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}
template <class Number>
std::span<Number> numbers_in(std::span<std::byte> bytes) {
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

}  // namespace nibble::inline backend
