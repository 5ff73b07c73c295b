// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either are a PNG with the shape of its header or throw Error. They are
// tried twice, the second time with all checksums of chunks made right.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "core/crc32.h"
#include "core/test_fuzz_target.h"
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

namespace {

constexpr std::int64_t kMostElements = 1 << 20;  // larger ones only cost time
constexpr std::size_t kSignature = 8;
constexpr std::size_t kAround = 12;  // length, kind and checksum of a chunk

void decode(std::span<const std::byte> input) {
  using namespace nibble;
  try {
    const Shape shape = png_shape(input, "fuzz");
    if (shape.elements() > kMostElements) return;
    if (decode_png(input, "fuzz").shape() != shape) std::abort();
  } catch (const Error&) {
  }
}

void repair(std::span<std::byte> bytes) {
  for (std::size_t at = kSignature; bytes.size() - at >= kAround;) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length = length << 8 | std::to_integer<std::size_t>(bytes[at + i]);
    }
    if (length > bytes.size() - at - kAround) return;
    const std::uint32_t crc = nibble::crc32_of(bytes.subspan(at + 4, length + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    }
    at += length + kAround;
  }
}

}  // namespace

NIBBLE_FUZZ_TARGET(png) {
  const auto input = std::as_bytes(std::span(data, size));
  decode(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  if (size >= kSignature) repair(repaired);
  decode(repaired);
  return 0;
}
