// SPDX-License-Identifier: Apache-2.0
// Gathers a batch of images and augments each on the way.
#include "nibble/data/augment.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "data/augment_law.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble::inline data {
namespace {

constexpr std::size_t kImagesAtOnce = 16;
constexpr std::int32_t kMostPixels = 1 << 20;  // of a border or a square: sums stay far from 2^31

struct ImageSize {
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
};

void check_options(const AugmentOptions& options) {
  for (const auto& [what, value] :
       {std::pair{"padding", options.padding}, std::pair{"cutout", options.cutout}}) {
    if (value < 0 || value > kMostPixels) {
      throw Error("augment", what, std::to_string(value), "0 to " + std::to_string(kMostPixels));
    }
  }
}

ImageSize check_images(ConstTensorView images, ConstTensorView batch, std::size_t count) {
  const Shape& shape = images.shape();
  if (images.dtype() != DType::u8 && images.dtype() != DType::f32) {
    throw Error("gather_images", "element type", name_of(images.dtype()), "u8 or f32");
  }
  if (batch.dtype() != images.dtype()) {
    throw Error("gather_images", "element type of the batch", name_of(batch.dtype()),
                name_of(images.dtype()));
  }
  if (shape.rank() != 4) throw Error("gather_images", "images", shape.to_string(), "(n, h, w, c)");
  const Shape expected{static_cast<std::int64_t>(count), shape[1], shape[2], shape[3]};
  if (batch.shape() != expected) {
    throw Error("gather_images", "batch", batch.shape().to_string(), expected.to_string());
  }
  return {.height = shape[1], .width = shape[2], .channels = shape[3]};
}

void check_indices(std::span<const std::int32_t> indices, std::int64_t count) {
  for (const std::int32_t index : indices) {
    if (index < 0 || index >= count) {
      throw Error("gather_images", "index", std::to_string(index),
                  "0 to " + std::to_string(count - 1));
    }
  }
}

template <class T>
void augment_row(const T* in, T* out, const ImageSize& size, const Augmentation& a, T fill) {
  for (std::int64_t x = 0; x < size.width; ++x) {
    const std::int64_t from = (a.is_flipped ? size.width - 1 - x : x) + a.shift_x;
    for (std::int64_t channel = 0; channel < size.channels; ++channel) {
      const bool is_inside = from >= 0 && from < size.width;
      out[x * size.channels + channel] = is_inside ? in[from * size.channels + channel] : fill;
    }
  }
}

template <class T>
void augment(const T* in, T* out, const ImageSize& size, const AugmentOptions& options,
             const Augmentation& a) {
  const std::int64_t row_elements = size.width * size.channels;
  const T fill = options.fill;
  for (std::int64_t y = 0; y < size.height; ++y) {
    const std::int64_t from = y + a.shift_y;
    T* row = out + y * row_elements;
    if (from < 0 || from >= size.height)
      std::fill_n(row, row_elements, fill);
    else
      augment_row(in + from * row_elements, row, size, a, fill);
    if (y >= a.cut_y && y < a.cut_y + options.cutout) {
      const std::int64_t begin = std::clamp<std::int64_t>(a.cut_x, 0, size.width);
      const std::int64_t end =
          std::clamp<std::int64_t>(std::int64_t{a.cut_x} + options.cutout, 0, size.width);
      std::fill(row + begin * size.channels, row + end * size.channels, fill);
    }
  }
}

template <class T>
void gather(ConstTensorView images, std::span<const std::int32_t> indices, const ImageSize& size,
            const AugmentOptions& options, const AugmentKey& key, TensorView batch) {
  const auto elements = static_cast<std::size_t>(size.height * size.width * size.channels);
  if (elements == 0) return;
  const bool is_copy = options.padding == 0 && !options.has_flip && options.cutout == 0;
  const T* from = images.as<T>().data();
  T* to = batch.as<T>().data();
  parallel_for(indices.size(), kImagesAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t image = indices[k];
      const T* in = from + static_cast<std::size_t>(image) * elements;
      if (is_copy) {
        std::memcpy(to + k * elements, in, elements * sizeof(T));
        continue;
      }
      const Augmentation drawn = draw_augmentation(options, size.height, size.width, key, image);
      augment(in, to + k * elements, size, options, drawn);
    }
  });
}

}  // namespace

Augmentation draw_augmentation(const AugmentOptions& options, std::int64_t height,
                               std::int64_t width, const AugmentKey& key, std::int64_t image) {
  check_options(options);
  const RandomKey random{.seed = key.seed, .stream = kAugmentStream, .step = key.epoch};
  return augmentation_by(options, height, width, [&](std::uint64_t k) {
    return draw32(random, kAugmentDraws * static_cast<std::uint64_t>(image) + k);
  });
}

void augment_image(ConstTensorView image, const AugmentOptions& options, const Augmentation& drawn,
                   TensorView result) {
  const Shape& shape = image.shape();
  if (shape.rank() != 3) throw Error("augment", "image", shape.to_string(), "(h, w, c)");
  if (result.shape() != shape)
    throw Error("augment", "result", result.shape().to_string(), shape.to_string());
  const ImageSize size{shape[0], shape[1], shape[2]};
  if (image.dtype() == DType::f32)
    return augment(image.as<float>().data(), result.as<float>().data(), size, options, drawn);
  augment(image.as<std::uint8_t>().data(), result.as<std::uint8_t>().data(), size, options, drawn);
}

void gather_images(ConstTensorView images, std::span<const std::int32_t> indices,
                   const AugmentOptions& options, const AugmentKey& key, TensorView batch) {
  check_options(options);
  const ImageSize size = check_images(images, batch, indices.size());
  check_indices(indices, images.shape()[0]);
  if (images.dtype() == DType::u8)
    gather<std::uint8_t>(images, indices, size, options, key, batch);
  else
    gather<float>(images, indices, size, options, key, batch);
}

}  // namespace nibble::inline data
