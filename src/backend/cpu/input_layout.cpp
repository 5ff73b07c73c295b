// SPDX-License-Identifier: Apache-2.0
// A batch of examples laid out for products.
#include "backend/cpu/input_layout.h"

#include <algorithm>
#include <utility>

#include "kernels/integer_loops/integer_loops.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {

namespace {

// Calls body(dense, laid_out) for every pixel of every image: where its numbers lie in a dense
// batch, and in the tensor. Images of a group go together, for their pixels lie side by side.
template <class Number, class Body>
void for_each_place(Number* batch, const BlockTensor& tensor, const Body& body) {
  constexpr std::int64_t kNumbersAtOnce = 8192;
  const std::int64_t pixels = tensor.picture.pixels();
  const std::int64_t channels = tensor.picture.channels;
  const auto grain = std::max<std::int64_t>(1, kNumbersAtOnce / (kGroup * channels));
  const auto run = [&](std::size_t begin, std::size_t end) {
    // Copies, for all the compiler knows a byte that is written may be one of what is captured.
    const Body own_body = body;
    const std::int64_t elements = pixels * channels;
    const std::int64_t stride = tensor.picture.stride();
    for (auto i = static_cast<std::int64_t>(begin); std::cmp_less(i, end); ++i) {
      const std::int64_t group = i / pixels;
      const std::int64_t images = tensor.images_in(group);
      Number* dense = batch + group * kGroup * elements + i % pixels * channels;
      std::int8_t* laid_out = tensor.at(group, i % pixels);
      for (std::int64_t r = 0; r < images; ++r)
        own_body(dense + r * elements, laid_out + r * stride);
    }
  };
  parallel_for(static_cast<std::size_t>(tensor.groups() * pixels), static_cast<std::size_t>(grain),
               run);
}

// Pixels of pictures, whose number of channels the compiler knows.
template <std::int64_t kChannels>
void lay_out_pixels(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
                    const BlockTensor& tensor) {
  for_each_place(bytes.data(), tensor, [table = tables.data()](const auto* from, auto* to) {
    for (std::int64_t c = 0; c < kChannels; ++c) to[c] = table[c * 256 + from[c]];
  });
}

}  // namespace

void lay_out(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
             std::int64_t channels, const BlockTensor& tensor) {
  constexpr std::int64_t kLongRow = 16;
  const std::int64_t count = tensor.picture.channels;
  if (channels == 1 && count >= kLongRow) {
    for_each_place(bytes.data(), tensor,
                   [&loops = integer_loops(), tables, count](const auto* from, auto* to) {
                     loops.look_up(tables.data(), from, to, static_cast<std::size_t>(count));
                   });
    return;
  }
  if (count == channels && count == 1) return lay_out_pixels<1>(bytes, tables, tensor);
  if (count == channels && count == 3) return lay_out_pixels<3>(bytes, tables, tensor);
  for_each_place(bytes.data(), tensor, [tables, channels, count](const auto* from, auto* to) {
    std::int64_t channel = 0;
    for (std::int64_t c = 0; c < count; ++c) {
      to[c] = tables.data()[channel * 256 + from[c]];
      channel = channel == channels - 1 ? 0 : channel + 1;
    }
  });
}

void lay_out(std::span<const std::int8_t> mantissas, const BlockTensor& tensor) {
  for_each_place(mantissas.data(), tensor,
                 [count = tensor.picture.channels](const auto* from, auto* to) {
                   std::copy_n(from, count, to);
                 });
}

void gather(const BlockTensor& tensor, std::span<std::int8_t> mantissas) {
  for_each_place(mantissas.data(), tensor,
                 [count = tensor.picture.channels](auto* to, const auto* from) {
                   std::copy_n(from, count, to);
                 });
}

}  // namespace nibble::inline backend
