// SPDX-License-Identifier: Apache-2.0
// Whether arrays share bytes: by their ranges where that says no, else by looking at every element.
#include "python/src/overlap.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::python {
namespace {

struct Range {
  std::intptr_t begin = 0;
  std::intptr_t end = 0;
};

Range range_of(const Array& array) {
  const auto data = reinterpret_cast<std::intptr_t>(array.data());
  Range range{data, data};
  if (array.shape().elements() == 0) return range;
  range.end += static_cast<std::intptr_t>(size_of(array.dtype()));
  for (std::size_t axis = 0; axis < array.shape().rank(); ++axis) {
    const std::int64_t reach = (array.shape()[axis] - 1) * array.stride(axis);
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

// Calls body(address) for every element until it returns false.
template <class Body>
bool over_elements(const Array& array, const Body& body) {
  const Shape& shape = array.shape();
  std::array<std::int64_t, kMaxRank> index{};
  auto address = reinterpret_cast<std::intptr_t>(array.data());
  for (std::int64_t count = shape.elements(); count > 0; --count) {
    if (!body(address)) return false;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      address += array.stride(axis);
      if (++index[axis] < shape[axis]) break;
      address -= index[axis] * array.stride(axis);
      index[axis] = 0;
    }
  }
  return true;
}

// The bytes of a range that elements were seen at.
class Bytes {
 public:
  explicit Bytes(Range range)
      : range_(range), is_seen_(static_cast<std::size_t>(range.end - range.begin)) {}

  // Whether none of the element's bytes was seen before.
  bool add(std::intptr_t address, std::size_t size) {
    const bool is_new = is_free(address, size);
    for_each(address, size, [&](std::size_t byte) { is_seen_[byte] = true; });
    return is_new;
  }
  bool is_free(std::intptr_t address, std::size_t size) const {
    bool is_new = true;
    for_each(address, size, [&](std::size_t byte) { is_new = is_new && !is_seen_[byte]; });
    return is_new;
  }

 private:
  template <class Body>
  void for_each(std::intptr_t address, std::size_t size, const Body& body) const {
    const std::intptr_t end = std::min(range_.end, address + static_cast<std::intptr_t>(size));
    for (std::intptr_t at = std::max(range_.begin, address); at < end; ++at) {
      body(static_cast<std::size_t>(at - range_.begin));
    }
  }

  Range range_;
  std::vector<bool> is_seen_;
};

// Each axis reaches beyond all axes inside it: enough, and true of nearly every array.
bool is_nested(const Array& array) {
  const Shape& shape = array.shape();
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1) order.push_back(axis);
  }
  const auto width = [&](std::size_t axis) { return std::abs(array.stride(axis)); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return width(a) < width(b); });
  auto reach = static_cast<std::int64_t>(size_of(array.dtype()));
  for (const std::size_t axis : order) {
    if (width(axis) < reach) return false;
    reach += (shape[axis] - 1) * width(axis);
  }
  return true;
}

}  // namespace

void check_own_memory(const Array& out, Argument argument) {
  if (out.is_contiguous() || is_nested(out)) return;
  const std::size_t size = size_of(out.dtype());
  Bytes bytes(range_of(out));
  if (over_elements(out, [&](std::intptr_t address) { return bytes.add(address, size); })) return;
  throw Error(argument.function, argument.name, "an array with several elements at one place",
              "one place for each element");
}

void check_apart(const Array& input, const Array& out, Argument argument, bool may_be_same) {
  if (input.device() != out.device()) return;
  const Range a = range_of(input);
  const Range b = range_of(out);
  const Range common{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  if (common.begin >= common.end) return;
  if (may_be_same && input.is_same_memory(out)) return;
  Bytes bytes(common);
  over_elements(input, [&](std::intptr_t address) {
    return bytes.add(address, size_of(input.dtype())) || true;
  });
  const bool is_apart = over_elements(
      out, [&](std::intptr_t address) { return bytes.is_free(address, size_of(out.dtype())); });
  if (is_apart) return;
  throw Error(argument.function, argument.name, "memory that overlaps the input",
              may_be_same ? "the input itself or memory apart from it" : "memory apart from it");
}

}  // namespace nibble::python
