// SPDX-License-Identifier: Apache-2.0
// Strided memory to dense and back.
#include "python/src/strided.h"

#include <algorithm>
#include <cstring>

#include "nibble/core/parallel.h"

namespace nibble::python {
namespace {

constexpr std::int64_t kGrainElements = 1 << 14;

// Calls body(dense offset of the line, strided address of the line) for the lines of the last axis.
template <class Body>
void over_lines(const Array& array, const Body& body) {
  const Shape& shape = array.shape();
  const std::size_t rank = shape.rank();
  const std::int64_t length = rank == 0 ? 1 : shape[rank - 1];
  const std::int64_t elements = shape.elements();
  if (elements == 0) return;
  const auto lines = static_cast<std::size_t>(elements / length);
  const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(1, kGrainElements / length));
  parallel_for(lines, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t line = begin; line < end; ++line) {
      auto rest = static_cast<std::int64_t>(line);
      std::int64_t offset = 0;
      for (std::size_t axis = rank == 0 ? 0 : rank - 1; axis-- > 0;) {
        offset += rest % shape[axis] * array.stride(axis);
        rest /= shape[axis];
      }
      body(static_cast<std::int64_t>(line) * length, array.data() + offset);
    }
  });
}

// One line of elements of Size bytes, in steps of bytes.
template <std::size_t Size>
void copy_line(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step, from + i * from_step, Size);
  }
}

auto line_copier(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return copy_line<1>;
    case 2:
      return copy_line<2>;
    case 4:
      return copy_line<4>;
    default:
      return copy_line<8>;
  }
}

}  // namespace

ConstTensorView dense(const Array& array, Tensor& storage) {
  if (array.is_contiguous()) return array.view();
  storage = Tensor(array.dtype(), array.shape());
  const auto size = static_cast<std::int64_t>(size_of(array.dtype()));
  const std::size_t rank = array.shape().rank();
  const std::int64_t length = rank == 0 ? 1 : array.shape()[rank - 1];
  const std::int64_t step = rank == 0 ? size : array.stride(rank - 1);
  over_lines(array, [&](std::int64_t first, const std::byte* line) {
    line_copier(array.dtype())(line, step, storage.data() + first * size, size, length);
  });
  return storage.view();
}

void scatter(ConstTensorView from, const Array& to) {
  const auto size = static_cast<std::int64_t>(size_of(to.dtype()));
  const std::size_t rank = to.shape().rank();
  const std::int64_t length = rank == 0 ? 1 : to.shape()[rank - 1];
  const std::int64_t step = rank == 0 ? size : to.stride(rank - 1);
  over_lines(to, [&](std::int64_t first, std::byte* line) {
    line_copier(to.dtype())(from.data() + first * size, size, line, step, length);
  });
}

bool share_dense_layout(const Array& a, const Array& b) {
  const Shape& shape = a.shape();
  std::int64_t span = static_cast<std::int64_t>(size_of(a.dtype()));
  if (size_of(b.dtype()) != size_of(a.dtype()) || b.shape() != shape) return false;
  if (reinterpret_cast<std::uintptr_t>(a.data()) % size_of(a.dtype()) != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(b.data()) % size_of(a.dtype()) != 0) return false;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  // Each axis must continue where the axes inside it end.
  std::array<bool, kMaxRank> is_used{};
  for (std::size_t found = 0; found < shape.rank(); ++found) {
    std::size_t next = shape.rank();
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (!is_used[axis] && (shape[axis] == 1 || a.stride(axis) == span)) next = axis;
    }
    if (next == shape.rank()) return false;
    is_used[next] = true;
    span *= shape[next];
  }
  return true;
}

}  // namespace nibble::python
