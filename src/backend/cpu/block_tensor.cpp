// SPDX-License-Identifier: Apache-2.0
// The zeros that fill groups up.
#include "backend/cpu/block_tensor.h"

#include <cstring>

#include "nibble/core/parallel.h"

namespace nibble::inline backend {

BlockTensor channels_of(const BlockTensor& tensor, std::int64_t first, std::int64_t count) {
  BlockTensor part = tensor;
  part.picture.outer_stride = tensor.picture.stride();
  part.picture.channels = count;
  part.data += first;
  return part;
}

void copy_bytes(const BlockTensor& from, const BlockTensor& to) {
  constexpr std::size_t kGrain = 1 << 18;
  parallel_for(static_cast<std::size_t>(to.bytes()), kGrain,
               [&](std::size_t begin, std::size_t end) {
                 std::memcpy(to.data + begin, from.data + begin, end - begin);
               });
}

void clear_filling(const BlockTensor& tensor) {
  if (tensor.images == 0) return;
  const std::int64_t group = tensor.picture.group_bytes();
  if (tensor.picture.stride() != tensor.picture.channels) {
    std::memset(tensor.data, 0, static_cast<std::size_t>(tensor.bytes()));
  } else if (tensor.images % kGroup != 0) {
    std::memset(tensor.data + (tensor.groups() - 1) * group, 0, static_cast<std::size_t>(group));
  }
}

}  // namespace nibble::inline backend
