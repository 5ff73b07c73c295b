// SPDX-License-Identifier: Apache-2.0
// Images in memory and from files alike.
#include "nibble/data/images.h"

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline data {
namespace {

constexpr std::size_t kImagesAtOnce = 64;

}  // namespace

const Tensor& Images::memory() const {
  if (source_) {
    throw Error("data", "pictures", "more than are kept in memory, read as they are needed",
                "fewer: this needs all of them at once", ErrorKind::limit);
  }
  return memory_;
}

void Images::for_each(std::span<const std::int32_t> indices,
                      const ImageSource::Visit& visit) const {
  if (source_) return source_->for_each(indices, visit);
  const auto pixels = memory_.as<std::uint8_t>();
  const std::size_t each = pixels.size() / static_cast<std::size_t>(shape()[0]);
  parallel_for(indices.size(), kImagesAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      visit(k, pixels.data() + static_cast<std::size_t>(indices[k]) * each);
  });
}

void gather_images(const Images& images, std::span<const std::int32_t> indices,
                   const AugmentOptions& options, const AugmentKey& key, TensorView batch) {
  if (images.is_in_memory()) return gather_images(images.view(), indices, options, key, batch);
  const Shape& all = images.shape();
  const Shape shape{all[1], all[2], all[3]};
  const auto bytes = static_cast<std::size_t>(shape.elements());
  std::uint8_t* to = batch.as<std::uint8_t>().data();
  images.for_each(indices, [&](std::size_t k, const std::uint8_t* pixels) {
    const Augmentation drawn = draw_augmentation(options, shape[0], shape[1], key, indices[k]);
    augment_image({reinterpret_cast<const std::byte*>(pixels), DType::u8, shape}, options, drawn,
                  {reinterpret_cast<std::byte*>(to + k * bytes), DType::u8, shape});
  });
}

Images Images::chosen(std::span<const std::int32_t> indices) const {
  if (source_) return Images(source_->chosen(indices));
  const auto count = static_cast<std::int64_t>(indices.size());
  Tensor part(dtype(), {count, shape()[1], shape()[2], shape()[3]});
  gather_images(view(), indices, {}, {}, part.view());
  return part;
}

}  // namespace nibble::inline data
