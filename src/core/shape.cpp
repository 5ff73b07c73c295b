// SPDX-License-Identifier: Apache-2.0
// Checks extents once, so that element and byte counts cannot overflow later.
#include "nibble/core/shape.h"

#include <algorithm>
#include <limits>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

// With eight bytes an element the byte count still fits a signed 64-bit integer.
constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 8;

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) : rank_(extents.size()) {
  if (rank_ > kMaxRank) {
    throw Error("shape", "rank", std::to_string(rank_), "at most " + std::to_string(kMaxRank),
                ErrorKind::limit);
  }
  std::copy(extents.begin(), extents.end(), extents_.begin());
  // Zeros are left out of the product: strides of an empty tensor must not overflow either.
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0) throw Error("shape", "extent", std::to_string(extent), "0 or more");
    if (extent == 0) continue;
    if (product > kMaxElements / extent) {
      throw Error("shape", "elements", to_string(),
                  "a product of at most " + std::to_string(kMaxElements), ErrorKind::limit);
    }
    product *= extent;
  }
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents()) {
    if (extent == 0) return 0;
    product *= extent;
  }
  return product;
}

std::size_t Shape::normalized_axis(std::int64_t axis) const {
  const auto rank = static_cast<std::int64_t>(rank_);
  if (axis < -rank || axis >= rank) {
    throw Error("shape", "axis", std::to_string(axis),
                rank == 0 ? std::string("no axis, the shape is a scalar")
                          : std::to_string(-rank) + " to " + std::to_string(rank - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::string Shape::to_string() const {
  std::string text = "(";
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(extents_[axis]);
  }
  return text + (rank_ == 1 ? ",)" : ")");
}

}  // namespace nibble::inline core
