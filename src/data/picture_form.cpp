// SPDX-License-Identifier: Apache-2.0
// Rows of a JPEG are resized as they come; other pictures are decoded whole, few large ones at
// once.
#include "data/picture_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "data/middle_rows.h"
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr std::int64_t kMostBytesAtOnce = std::int64_t{256} << 20;

// Lets decoders in while their bytes fit together; one that alone is too large comes in alone.
class Gate {
 public:
  void enter(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    has_news_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= kMostBytesAtOnce; });
    taken_ += bytes;
  }
  void leave(std::int64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    has_news_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::int64_t taken_ = 0;
};

class InMemory {
 public:
  explicit InMemory(std::int64_t bytes) : bytes_(bytes) { gate().enter(bytes_); }
  ~InMemory() { gate().leave(bytes_); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;

 private:
  static Gate& gate() {
    static Gate all;
    return all;
  }
  std::int64_t bytes_;
};

// A decoder of JPEG may keep all coefficients, two bytes each, where a file comes in several scans.
std::int64_t bytes_to_decode(std::span<const std::byte> file, const Shape& shape) {
  const std::int64_t values = shape.elements();
  return static_cast<std::int64_t>(file.size()) + (is_jpeg(file) ? 3 * values : values);
}

// False: a picture whose rows do not come one by one in the channels that are wanted.
bool read_middle_rows(std::span<const std::byte> file, const std::string& name, const Shape& shape,
                      const PictureForm& form, std::uint8_t* to) {
  if (!is_jpeg(file) || shape[2] > form.shape[2]) return false;
  MiddleRows middle(shape, published_middle(form.shape[0], form.shape[1]));
  if (!decode_jpeg_rows(file, name, middle.window(),
                        [&](const std::uint8_t* pixels) { middle.add(pixels); })) {
    return false;
  }
  if (shape[2] == form.shape[2]) {
    middle.finish(to);
    return true;
  }
  Tensor grey(DType::u8, Shape{form.shape[0], form.shape[1], 1});
  middle.finish(grey.as<std::uint8_t>().data());
  const Tensor result = with_channels(std::move(grey), form.shape[2]);
  std::memcpy(to, result.data(), result.bytes());
  return true;
}

Tensor resized(Tensor picture, const std::string& name, const PictureForm& form) {
  const Shape& shape = picture.shape();
  switch (form.law) {
    case PictureForm::Law::square:
      return resize_picture(picture.view(), form.shape[0]);
    case PictureForm::Law::middle:
      return middle_of_picture(picture.view(), published_middle(form.shape[0], form.shape[1]));
    case PictureForm::Law::as_is:
      break;
  }
  if (shape[0] != form.shape[0] || shape[1] != form.shape[1]) {
    throw Error("load_dataset", name + ": size", fmt::format("{}x{}", shape[0], shape[1]),
                fmt::format("{}x{} as {}; --image-size resizes", form.shape[0], form.shape[1],
                            form.size_of));
  }
  return picture;
}

}  // namespace

MiddleOptions published_middle(std::int64_t height, std::int64_t width) {
  return {.shorter = (std::max(height, width) * 256 + 112) / 224,  // to the nearest
          .height = height,
          .width = width};
}

void read_in_form(std::span<const std::byte> file, const std::string& name, const PictureForm& form,
                  std::uint8_t* to) {
  const Shape shape = picture_shape(file, name);
  const InMemory room(bytes_to_decode(file, shape));
  if (form.law == PictureForm::Law::middle && read_middle_rows(file, name, shape, form, to)) return;
  Tensor picture = decode_picture(file, name);
  // Colours are mixed before they are resized, grey is tripled after.
  if (shape[2] > form.shape[2]) picture = with_channels(std::move(picture), form.shape[2]);
  const Tensor result = with_channels(resized(std::move(picture), name, form), form.shape[2]);
  std::memcpy(to, result.data(), result.bytes());
}

}  // namespace nibble::inline data
