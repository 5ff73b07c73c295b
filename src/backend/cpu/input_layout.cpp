// SPDX-License-Identifier: Apache-2.0
// A batch of examples laid out for products.
#include "backend/cpu/input_layout.h"

#include <algorithm>

#include "nibble/core/parallel.h"

namespace nibble::inline backend {

void lay_out(std::span<const std::uint8_t> bytes, std::span<const std::int8_t> tables,
             std::int64_t channels, const BlockTensor& tensor) {
  const BlockPicture& picture = tensor.picture;
  clear_filling(tensor);
  parallel_for(static_cast<std::size_t>(tensor.images), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto image = static_cast<std::int64_t>(i);
      const std::uint8_t* from = bytes.data() + image * picture.elements();
      const std::int8_t* table = tables.data();  // of the next byte's channel
      for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel) {
        std::int8_t* to = tensor.at(image / kGroup, pixel) + image % kGroup * picture.stride();
        for (std::int64_t c = 0; c < picture.channels; ++c) {
          to[c] = table[*from++];
          table = table == tables.data() + (channels - 1) * 256 ? tables.data() : table + 256;
        }
      }
    }
  });
}

void lay_out(std::span<const std::int8_t> mantissas, const BlockTensor& tensor) {
  const BlockPicture& picture = tensor.picture;
  clear_filling(tensor);
  parallel_for(static_cast<std::size_t>(tensor.images), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto image = static_cast<std::int64_t>(i);
      const std::int8_t* from = mantissas.data() + image * picture.elements();
      for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel, from += picture.channels) {
        std::copy_n(from, picture.channels,
                    tensor.at(image / kGroup, pixel) + image % kGroup * picture.stride());
      }
    }
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

}  // namespace nibble::inline backend
