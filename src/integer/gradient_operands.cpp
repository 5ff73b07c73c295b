// SPDX-License-Identifier: Apache-2.0
// Turns errors and inputs so that products sum over images.
#include "integer/gradient_operands.h"

#include <cstring>

#include "nibble/core/parallel.h"
#include "nibble/kernels/integer_loops.h"
#include "nibble/kernels/product8.h"

namespace nibble {
namespace {

constexpr std::int64_t kQuads = kBundle / 4;

template <class Body>
void for_each_pixel(std::int64_t bundles, std::int64_t pixels, const Body& body) {
  constexpr std::size_t kGrain = 4;
  parallel_for(static_cast<std::size_t>(bundles * pixels), kGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto at = static_cast<std::int64_t>(i);
                   body(at / pixels, at % pixels);
                 }
               });
}

}  // namespace

ErrorRows::ErrorRows(const BlockTensor& error, BufferPool& pool)
    : pixels_(error.picture.pixels()),
      rows_(round_up(error.picture.channels, kProductRows)),
      memory_(pool.take<std::int8_t>(bundles_of(error.images) * pixels_ * rows_ * kBundle)) {
  if (product8_path().needs_sums())
    sums_ = pool.take<std::int32_t>(bundles_of(error.images) * pixels_ * rows_);
  for_each_pixel(bundles_of(error.images), pixels_,
                 [&](std::int64_t bundle, std::int64_t pixel) { turn(error, bundle, pixel); });
}

const std::int8_t* ErrorRows::at(std::int64_t bundle, std::int64_t pixel, std::int64_t row) const {
  return memory_.as<std::int8_t>() + ((bundle * pixels_ + pixel) * rows_ + row) * kBundle;
}

const std::int32_t* ErrorRows::sums(std::int64_t bundle, std::int64_t pixel,
                                    std::int64_t row) const {
  return sums_.is_empty() ? nullptr
                          : sums_.as<std::int32_t>() + (bundle * pixels_ + pixel) * rows_ + row;
}

void ErrorRows::turn(const BlockTensor& error, std::int64_t bundle, std::int64_t pixel) {
  std::int8_t* to = memory_.as<std::int8_t>() + (bundle * pixels_ + pixel) * rows_ * kBundle;
  const std::int64_t channels = error.picture.channels;
  const std::int64_t images = images_of_bundle(error, bundle);
  std::memset(to + channels * kBundle, 0, static_cast<std::size_t>((rows_ - channels) * kBundle));
  for (std::int64_t first = 0; first < images; first += kGroup) {
    const std::int8_t* from = error.at((bundle * kBundle + first) / kGroup, pixel);
    integer_loops().transpose16(from, error.picture.stride(), to + first, kBundle,
                                static_cast<std::size_t>(channels));
  }
  if (sums_.is_empty()) return;
  product8_path().sums(to, rows_, images, kBundle,
                       sums_.as<std::int32_t>() + (bundle * pixels_ + pixel) * rows_);
}

InputColumns::InputColumns(const BlockTensor& input, BufferPool& pool)
    : pixels_(input.picture.pixels()),
      columns_(round_up(input.picture.channels, kProductColumns)),
      memory_(pool.take<std::int8_t>(bundles_of(input.images) * pixels_ * columns_ * kBundle)) {
  for_each_pixel(bundles_of(input.images), pixels_,
                 [&](std::int64_t bundle, std::int64_t pixel) { turn(input, bundle, pixel); });
}

const std::int8_t* InputColumns::at(std::int64_t bundle, std::int64_t pixel,
                                    std::int64_t column) const {
  return memory_.as<std::int8_t>() + (bundle * pixels_ + pixel) * columns_ * kBundle + column * 4;
}

void InputColumns::turn(const BlockTensor& input, std::int64_t bundle, std::int64_t pixel) {
  std::int8_t* to = memory_.as<std::int8_t>() + (bundle * pixels_ + pixel) * columns_ * kBundle;
  const std::uint8_t flip = product8_path().b_flip;
  const std::int64_t channels = input.picture.channels;
  const std::int64_t stride = input.picture.stride();
  for (std::int64_t quad = 0; quad < images_of_bundle(input, bundle) / 4; ++quad) {
    const std::int64_t image = bundle * kBundle + quad * 4;
    const std::int8_t* row = input.at(image / kGroup, pixel) + image % kGroup * stride;
    const std::int8_t* const rows[4] = {row, row + stride, row + 2 * stride, row + 3 * stride};
    std::int8_t* out = to + quad * columns_ * 4;
    integer_loops().interleave4(rows, out, static_cast<std::size_t>(channels), flip);
    std::memset(out + channels * 4, flip, static_cast<std::size_t>((columns_ - channels) * 4));
  }
}

}  // namespace nibble
