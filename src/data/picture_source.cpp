// SPDX-License-Identifier: Apache-2.0
// Every picture is a task for the next thread that is free.
#include "data/picture_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/warning.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline data {
namespace {

constexpr std::size_t kMostNamed = 10;
constexpr std::size_t kHeadBytes = 65536;  // nearly always enough for the size of a picture

using Failures = std::vector<std::optional<Error>>;  // by place in what was asked for

// Memory that ends is no fault of a picture.
bool is_broken(const Error& error) {
  return error.kind() == ErrorKind::input || error.kind() == ErrorKind::limit;
}

Failures read_each(const PictureList& list, const PictureForm& form,
                   std::span<const std::int32_t> indices, const ImageSource::Visit& visit) {
  Failures failures(indices.size());
  parallel_tasks(indices.size(), [&](std::size_t k) {
    const auto index = static_cast<std::size_t>(indices[k]);
    std::vector<std::uint8_t> pixels(form.bytes());
    try {
      read_in_form(list.bytes(index), list.name(index), form, pixels.data());
    } catch (const Error& error) {
      failures[k] = error;
      return;
    }
    visit(k, pixels.data());
  });
  return failures;
}

// The one of the first picture, whatever the threads did.
void throw_first(const Failures& failures) {
  const auto count = std::ranges::count_if(failures, &std::optional<Error>::has_value);
  if (count == 0) return;
  const Error& first = **std::ranges::find_if(failures, &std::optional<Error>::has_value);
  if (!is_broken(first)) throw first;
  throw Error(fmt::format("{}; {} of {} pictures cannot be taken: --skip-broken leaves them out",
                          first.what(), count, failures.size()),
              first.kind());
}

class PictureSource final : public ImageSource {
 public:
  PictureSource(PictureList list, const PictureForm& form)
      : list_(std::move(list)),
        form_(form),
        shape_{static_cast<std::int64_t>(list_.size()), form.shape[0], form.shape[1],
               form.shape[2]} {}

  const Shape& shape() const override { return shape_; }

  void for_each(std::span<const std::int32_t> indices, const Visit& visit) const override {
    throw_first(read_each(list_, form_, indices, visit));
  }

  std::shared_ptr<const ImageSource> chosen(std::span<const std::int32_t> indices) const override {
    return make_picture_source(list_.chosen(indices), form_);
  }

  std::uint64_t hash() const override {
    Hasher hasher;
    hasher.add(fmt::format("{:016x} {} {}", list_.hash(), static_cast<int>(form_.law),
                           form_.shape.to_string()));
    return hasher.value();
  }

 private:
  PictureList list_;
  PictureForm form_;
  Shape shape_;
};

std::vector<std::int32_t> all_of(const PictureList& list) {
  std::vector<std::int32_t> indices(list.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// None where there is no picture.
std::optional<Shape> shape_at(const PictureList& list, std::size_t index) {
  try {
    return picture_shape(list.head(index, kHeadBytes), list.name(index));
  } catch (const Error&) {
  }
  try {
    return picture_shape(list.bytes(index), list.name(index));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The first picture whose shape is such, if there is one.
template <class Predicate>
bool has_picture(const PictureList& list, const Predicate& is_such) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (const std::optional<Shape> shape = shape_at(list, i); shape && is_such(*shape)) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<const ImageSource> make_picture_source(PictureList list, const PictureForm& form) {
  return std::make_shared<PictureSource>(std::move(list), form);
}

Images read_pictures(PictureList list, const PictureForm& form, std::int64_t most_bytes) {
  const auto count = static_cast<std::int64_t>(list.size());
  if (count > most_bytes / static_cast<std::int64_t>(form.bytes()))
    return Images(make_picture_source(std::move(list), form));
  Tensor images(DType::u8, {count, form.shape[0], form.shape[1], form.shape[2]});
  std::uint8_t* to = images.as<std::uint8_t>().data();
  throw_first(read_each(list, form, all_of(list), [&](std::size_t k, const std::uint8_t* pixels) {
    std::memcpy(to + k * form.bytes(), pixels, form.bytes());
  }));
  return images;
}

std::vector<std::int32_t> find_whole(std::size_t count,
                                     const std::function<void(std::size_t i)>& read) {
  Failures failures(count);
  parallel_tasks(count, [&](std::size_t i) {
    try {
      read(i);
    } catch (const Error& error) {
      failures[i] = error;
    }
  });
  std::vector<std::int32_t> whole;
  std::string named;
  std::size_t broken = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!failures[i]) {
      whole.push_back(static_cast<std::int32_t>(i));
      continue;
    }
    if (!is_broken(*failures[i])) throw *failures[i];
    if (++broken <= kMostNamed) named += fmt::format("; {}", failures[i]->reason());
  }
  if (broken > 0) {
    warn(fmt::format("{} of {} pictures left out{}{}", broken, count, named,
                     broken > kMostNamed ? "; …" : ""));
  }
  if (whole.empty())
    throw Error("load_dataset", "pictures", "all broken" + named, "one or more", ErrorKind::input);
  return whole;
}

PictureList without_broken(PictureList list, const PictureForm& form) {
  const std::vector<std::int32_t> whole = find_whole(list.size(), [&](std::size_t i) {
    std::vector<std::uint8_t> pixels(form.bytes());
    read_in_form(list.bytes(i), list.name(i), form, pixels.data());
  });
  return whole.size() == list.size() ? std::move(list) : list.chosen(whole);
}

bool all_have_size(const PictureList& list, std::int64_t height, std::int64_t width) {
  return !has_picture(list,
                      [&](const Shape& shape) { return shape[0] != height || shape[1] != width; });
}

Shape first_shape(const PictureList& list) {
  return picture_shape(list.bytes(0), list.name(0));
}

std::int64_t channels_of(const PictureList& list) {
  return has_picture(list, [](const Shape& shape) { return shape[2] != 1; }) ? 3 : 1;
}

}  // namespace nibble::inline data
