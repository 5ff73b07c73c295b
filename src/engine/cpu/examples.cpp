// SPDX-License-Identifier: Apache-2.0
// Moves examples, bytes in runs where they lie alike.
#include "engine/cpu/examples.h"

#include <cstring>

namespace nibble::inline engine {
namespace {

std::int32_t int32_at(const std::byte* from) {
  std::int32_t value = 0;
  std::memcpy(&value, from, sizeof value);  // of any alignment
  return value;
}

void load_bytes(const std::byte* from, std::int64_t count, std::uint8_t shift, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<std::byte>(static_cast<std::uint8_t>(from[i]) + shift);
}

}  // namespace

void load_examples(const Place& place, const ValueInfo& info, const std::byte* from,
                   std::int64_t batch, std::byte* arena) {
  const std::int64_t channels = place.channels;
  const bool is_byte = place.storage == FilterStorage::u8 && info.dtype != DType::i32;
  const auto shift = static_cast<std::uint8_t>(place.zero - info.zero);  // of bytes, modulo 256
  for (std::int64_t row = 0; row < batch * place.height; ++row) {
    std::byte* to = arena + place.offset + row * place.row_bytes();
    if (place.border > 0) {
      const auto border = static_cast<std::size_t>(place.border * place.stride);
      std::memset(to, place.zero, border);
      std::memset(to + place.row_bytes() - border, place.zero, border);
      to += border;
    }
    if (is_byte) {
      const bool is_dense = place.stride == channels;
      const std::int64_t runs = is_dense ? 1 : place.width;
      const std::int64_t bytes = is_dense ? place.width * channels : channels;
      for (std::int64_t run = 0; run < runs; ++run, to += place.stride, from += bytes)
        load_bytes(from, bytes, shift, to);
      continue;
    }
    for (std::int64_t x = 0; x < place.width; ++x, to += place.stride) {
      for (std::int64_t c = 0; c < channels; ++c, from += size_of(info.dtype)) {
        const std::int64_t value = info.dtype == DType::i8   ? static_cast<std::int8_t>(*from)
                                   : info.dtype == DType::u8 ? static_cast<std::uint8_t>(*from)
                                                             : int32_at(from);
        write_value(place, to, c, value - info.zero);
      }
    }
  }
}

void store_examples(const Place& place, const ValueInfo& info, const std::byte* arena,
                    std::int64_t batch, std::byte* to) {
  if (place.storage == FilterStorage::u8 && info.dtype != DType::i32 && place.border == 0 &&
      place.stride == place.channels && (place.zero == 128 || place.zero == 0)) {
    const std::byte* from = arena + place.offset;
    const auto flip = static_cast<std::byte>(place.zero);
    for (std::int64_t i = 0; i < batch * place.image_bytes(); ++i) to[i] = from[i] ^ flip;
    return;
  }
  for (std::int64_t pixel = 0; pixel < batch * place.pixels(); ++pixel) {
    const std::int64_t image = pixel / place.pixels();
    const std::int64_t at = pixel % place.pixels();
    const std::byte* from =
        arena + place.offset + place.at(image, at / place.width, at % place.width);
    for (std::int64_t c = 0; c < place.channels; ++c, to += size_of(info.dtype)) {
      const std::int64_t value = read_value(place, from, c);
      if (info.dtype == DType::i32) {
        const auto wide = static_cast<std::int32_t>(value);
        std::memcpy(to, &wide, sizeof wide);
      } else {
        *to = static_cast<std::byte>(value);
      }
    }
  }
}

}  // namespace nibble::inline engine
