// SPDX-License-Identifier: Apache-2.0
// The extents of a tensor, outermost first; rank 0 is a scalar with one element.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace nibble::inline core {

inline constexpr std::size_t kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::span<const std::int64_t> extents() const { return {extents_.data(), rank_}; }

  // The product of the extents; checked against overflow at construction.
  std::int64_t elements() const;

  // Python's rule: -1 is the last axis. Throws when out of range.
  std::size_t normalized_axis(std::int64_t axis) const;

  std::string to_string() const;  // "(2, 3)"

  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

}  // namespace nibble::inline core
