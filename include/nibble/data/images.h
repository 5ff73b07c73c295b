// SPDX-License-Identifier: Apache-2.0
// The images of a data set: in memory, or made when they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "nibble/core/tensor.h"
#include "nibble/data/augment.h"

namespace nibble::inline data {

// Pictures that are too many for memory: files that are read and decoded again each time.
class ImageSource {
 public:
  using Visit = std::function<void(std::size_t k, const std::uint8_t* pixels)>;

  virtual ~ImageSource() = default;
  virtual const Shape& shape() const = 0;  // (n, height, width, channels), of u8

  // Calls visit(k, pixels) once for every k, pixels being those of image indices[k], by all threads
  // and in any order. Throws, after all, where one cannot be read.
  virtual void for_each(std::span<const std::int32_t> indices, const Visit& visit) const = 0;

  virtual std::shared_ptr<const ImageSource> chosen(
      std::span<const std::int32_t> indices) const = 0;
  virtual std::uint64_t hash() const = 0;  // of what tells this set from others
};

class Images {
 public:
  Images() = default;
  Images(Tensor images) : memory_(std::move(images)) {}  // (n, height, width, channels), u8 or f32
  explicit Images(std::shared_ptr<const ImageSource> source) : source_(std::move(source)) {}

  const Shape& shape() const { return source_ ? source_->shape() : memory_.shape(); }
  DType dtype() const { return source_ ? DType::u8 : memory_.dtype(); }
  std::int64_t elements() const { return shape().elements(); }

  bool is_in_memory() const { return source_ == nullptr; }
  const ImageSource* source() const { return source_.get(); }

  // Those in memory; all others are refused in one line.
  std::byte* data() const { return memory().data(); }
  std::size_t bytes() const { return memory().bytes(); }
  ConstTensorView view() const { return memory().view(); }
  template <class T>
  std::span<T> as() {
    memory();
    return memory_.as<T>();
  }
  template <class T>
  std::span<const T> as() const {
    return memory().as<T>();
  }

  // Image indices[k] of u8 images as visit(k, pixels), as ImageSource has it.
  void for_each(std::span<const std::int32_t> indices, const ImageSource::Visit& visit) const;

  // Copies: of those in memory their pixels, of others where they come from.
  Images chosen(std::span<const std::int32_t> indices) const;

 private:
  const Tensor& memory() const;

  Tensor memory_;
  std::shared_ptr<const ImageSource> source_;
};

// As gather_images of images in memory, with the same draws.
void gather_images(const Images& images, std::span<const std::int32_t> indices,
                   const AugmentOptions& options, const AugmentKey& key, TensorView batch);

}  // namespace nibble::inline data
