// SPDX-License-Identifier: Apache-2.0
// A batch of examples laid out for products.
#include "backend/cpu/input_layout.h"

#include <algorithm>

#include "nibble/core/parallel.h"

namespace nibble {
namespace {

// mantissa(i, e) is element e of image i.
template <class Mantissa>
void fill(const BlockTensor& tensor, const Mantissa& mantissa) {
  const BlockPicture& picture = tensor.picture;
  clear_filling(tensor);
  parallel_for(static_cast<std::size_t>(tensor.images), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto image = static_cast<std::int64_t>(i);
      std::int64_t element = 0;
      for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel) {
        std::int8_t* to = tensor.at(image / kGroup, pixel) + image % kGroup * picture.stride();
        for (std::int64_t c = 0; c < picture.channels; ++c) to[c] = mantissa(image, element++);
      }
    }
  });
}

}  // namespace

void lay_out(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
             std::int64_t channels, const BlockTensor& tensor) {
  const std::int64_t elements = tensor.picture.elements();
  fill(tensor, [&](std::int64_t image, std::int64_t element) {
    const std::uint8_t byte = bytes[static_cast<std::size_t>(image * elements + element)];
    return tables[static_cast<std::size_t>(element % channels * 256 + byte)];
  });
}

void lay_out(std::span<const std::int8_t> mantissas, const BlockTensor& tensor) {
  const std::int64_t elements = tensor.picture.elements();
  fill(tensor, [&](std::int64_t image, std::int64_t element) {
    return mantissas[static_cast<std::size_t>(image * elements + element)];
  });
}

void gather(const BlockTensor& tensor, std::span<std::int8_t> mantissas) {
  const BlockPicture& picture = tensor.picture;
  std::int8_t* to = mantissas.data();
  for (std::int64_t image = 0; image < tensor.images; ++image) {
    for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel, to += picture.channels) {
      std::copy_n(tensor.at(image / kGroup, pixel) + image % kGroup * picture.stride(),
                  picture.channels, to);
    }
  }
}

}  // namespace nibble
