// SPDX-License-Identifier: Apache-2.0
// Turns errors and inputs so that products sum over images.
#include "backend/cpu/gradient_operands.h"

#include <cstring>

#include "kernels/integer_loops/integer_loops.h"
#include "kernels/products/product_kernels.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

template <class Body>
void for_each_pixel(std::int64_t bundles, std::int64_t pixels, const Body& body) {
  constexpr std::int64_t kAtOnce = 4;
  const std::int64_t count = bundles * pixels;
  parallel_tasks(static_cast<std::size_t>((count - 1) / kAtOnce + 1), [&](std::size_t task) {
    const std::int64_t begin = static_cast<std::int64_t>(task) * kAtOnce;
    const std::int64_t end = std::min(begin + kAtOnce, count);
    for (std::int64_t i = begin; i < end; ++i) body(i / pixels, i % pixels);
  });
}

}  // namespace

ErrorRows::ErrorRows(const BlockTensor& error, std::int64_t bundles, BufferPool& pool)
    : error_(error),
      rows_(round_up(error.picture.channels, kProductRows)),
      memory_(pool.take<std::int8_t>(bundles * error.picture.pixels() * rows_ * kBundle)) {
  if (product_kernels().needs_sums())
    sums_ = pool.take<std::int32_t>(bundles * error.picture.pixels() * rows_);
}

void ErrorRows::turn(Bundles bundles) {
  for_each_pixel(bundles.count, error_.picture.pixels(),
                 [&](std::int64_t bundle, std::int64_t pixel) {
                   turn(bundles.first + bundle, bundle, pixel);
                 });
}

const std::int8_t* ErrorRows::at(std::int64_t bundle, std::int64_t pixel, std::int64_t row) const {
  return memory_.as<std::int8_t>() +
         ((bundle * error_.picture.pixels() + pixel) * rows_ + row) * kBundle;
}

const std::int32_t* ErrorRows::sums(std::int64_t bundle, std::int64_t pixel,
                                    std::int64_t row) const {
  if (sums_.is_empty()) return nullptr;
  return sums_.as<std::int32_t>() + (bundle * error_.picture.pixels() + pixel) * rows_ + row;
}

void ErrorRows::turn(std::int64_t from, std::int64_t bundle, std::int64_t pixel) {
  const std::int64_t place = (bundle * error_.picture.pixels() + pixel) * rows_;
  std::int8_t* to = memory_.as<std::int8_t>() + place * kBundle;
  const std::int64_t channels = error_.picture.channels;
  const std::int64_t images = images_of_bundle(error_, from);
  std::memset(to + channels * kBundle, 0, static_cast<std::size_t>((rows_ - channels) * kBundle));
  for (std::int64_t first = 0; first < images; first += kGroup) {
    integer_loops().transpose16(error_.at((from * kBundle + first) / kGroup, pixel),
                                error_.picture.stride(), to + first, kBundle,
                                static_cast<std::size_t>(channels));
  }
  if (sums_.is_empty()) return;
  product_kernels().sums(to, rows_, images, kBundle, sums_.as<std::int32_t>() + place);
}

InputColumns::InputColumns(const BlockTensor& input, std::int64_t bundles, BufferPool& pool)
    : input_(input),
      columns_(round_up(input.picture.channels, kProductColumns)),
      memory_(pool.take<std::int8_t>(bundles * input.picture.pixels() * columns_ * kBundle)) {}

void InputColumns::turn(Bundles bundles) {
  for_each_pixel(bundles.count, input_.picture.pixels(),
                 [&](std::int64_t bundle, std::int64_t pixel) {
                   turn(bundles.first + bundle, bundle, pixel);
                 });
}

const std::int8_t* InputColumns::at(std::int64_t bundle, std::int64_t pixel,
                                    std::int64_t block) const {
  return memory_.as<std::int8_t>() +
         ((bundle * input_.picture.pixels() + pixel) * columns_ + block * kBlock) * kBundle;
}

void InputColumns::turn(std::int64_t from, std::int64_t bundle, std::int64_t pixel) {
  std::int8_t* to =
      memory_.as<std::int8_t>() + (bundle * input_.picture.pixels() + pixel) * columns_ * kBundle;
  const IntegerLoops& loops = integer_loops();
  const std::uint8_t flip = product_kernels().b_flip;
  const std::int64_t stride = input_.picture.stride();
  const std::int64_t quads = images_of_bundle(input_, from) / 4;
  for (std::int64_t block = 0; block < blocks(); ++block, to += kBlock * kBundle) {
    const std::int64_t step = width(block) * 4;
    const std::int64_t channels = std::min(kBlock, input_.picture.channels - block * kBlock);
    for (std::int64_t quad = 0; quad < quads; ++quad) {
      const std::int64_t image = from * kBundle + quad * 4;
      const std::int8_t* row =
          input_.at(image / kGroup, pixel) + image % kGroup * stride + block * kBlock;
      const std::int8_t* const rows[4] = {row, row + stride, row + 2 * stride, row + 3 * stride};
      std::int8_t* out = to + quad * step;
      loops.interleave4(rows, out, static_cast<std::size_t>(channels), flip);
      if (channels * 4 < step)
        std::memset(out + channels * 4, flip, static_cast<std::size_t>(step - channels * 4));
    }
  }
}

}  // namespace nibble::inline backend
