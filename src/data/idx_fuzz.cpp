// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either parse as IDX or throw Error; what parses survives a round trip.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "core/test_fuzz_target.h"
#include "data/idx.h"
#include "nibble/core/error.h"

namespace {

std::vector<std::byte> idx_of(const nibble::Tensor& tensor) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, std::byte{8},
                                  static_cast<std::byte>(tensor.shape().rank())};
  for (const std::int64_t extent : tensor.shape().extents()) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::byte>(extent >> shift));
    }
  }
  bytes.insert(bytes.end(), tensor.data(), tensor.data() + tensor.bytes());
  return bytes;
}

}  // namespace

NIBBLE_FUZZ_TARGET(idx) {
  using namespace nibble;
  try {
    const auto input = std::as_bytes(std::span(data, size));
    const Tensor first = parse_idx(input, "fuzz");
    const std::vector<std::byte> copy = idx_of(first);
    const bool is_plain = data[0] == 0;
    if (is_plain && (copy.size() != size || std::memcmp(copy.data(), data, size) != 0))
      std::abort();
    const Tensor second = parse_idx(copy, "copy");
    if (first.shape() != second.shape() || first.dtype() != second.dtype()) std::abort();
    if (std::memcmp(first.data(), second.data(), first.bytes()) != 0) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
