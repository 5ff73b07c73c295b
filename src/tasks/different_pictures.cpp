// SPDX-License-Identifier: Apache-2.0
// Draws pixels as rectangles: nothing but the page itself is needed to see them.
#include "tasks/compare_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text_file.h"
#include "nibble/core/error.h"
#include "report/svg.h"

namespace nibble::inline tasks {
namespace {

constexpr std::size_t kMost = 24;
constexpr std::size_t kPicturesARow = 6;
constexpr std::int64_t kMostPixels = 64;  // of a side
constexpr double kPictureSide = 128;
constexpr double kCellWidth = 160;
constexpr double kCellHeight = 198;
constexpr double kMargin = 16;
constexpr double kTop = 44;
constexpr double kOverlap = 0.1;  // hides the seams between pixels

std::string colour_at(const Images& picture, std::int64_t y, std::int64_t x) {
  const Shape& shape = picture.shape();
  const std::uint8_t* pixel = picture.as<std::uint8_t>().data() + (y * shape[2] + x) * shape[3];
  const bool is_grey = shape[3] == 1;
  return fmt::format("#{:02x}{:02x}{:02x}", pixel[0], pixel[is_grey ? 0 : 1],
                     pixel[is_grey ? 0 : 2]);
}

// Pixels of one colour that follow each other in a row are one rectangle.
void draw_pixels(Svg& svg, const Images& picture, double left, double top) {
  const Shape& shape = picture.shape();
  const std::int64_t rows = std::min(shape[1], kMostPixels);
  const std::int64_t columns = std::min(shape[2], kMostPixels);
  const double size = kPictureSide / static_cast<double>(std::max(rows, columns));
  for (std::int64_t y = 0; y < rows; ++y) {
    const auto colour = [&](std::int64_t x) {
      return colour_at(picture, y * shape[1] / rows, x * shape[2] / columns);
    };
    for (std::int64_t begin = 0, end = 0; begin < columns; begin = end) {
      const std::string own = colour(begin);
      for (end = begin + 1; end < columns && colour(end) == own;) ++end;
      svg.rectangle(left + static_cast<double>(begin) * size, top + static_cast<double>(y) * size,
                    static_cast<double>(end - begin) * size + kOverlap, size + kOverlap, own);
    }
  }
}

Images picture_of(const Images& images, std::int64_t index) {
  const Shape& shape = images.shape();
  const auto chosen = static_cast<std::int32_t>(index);
  Tensor picture(DType::u8, {1, shape[1], shape[2], shape[3]});
  gather_images(images, {&chosen, 1}, {}, {}, picture.view());
  return picture;
}

}  // namespace

std::string class_name(const Dataset& data, std::int32_t label) {
  const auto place = static_cast<std::size_t>(label);
  return place < data.class_names.size() ? data.class_names[place] : std::to_string(label);
}

std::string draw_pictures(const Dataset& data, std::span<const DifferentPicture> list,
                          bool is_html) {
  const std::int64_t channels = data.images.shape()[3];
  if (data.images.dtype() != DType::u8 || (channels != 1 && channels != 3)) {
    throw Error("compare", "pictures of " + data.name,
                fmt::format("{} channels of {}", channels, name_of(data.images.dtype())),
                "1 or 3 of u8", ErrorKind::input);
  }
  const std::size_t count = std::min(kMost, list.size());
  const std::size_t rows = (count + kPicturesARow - 1) / kPicturesARow;
  const std::string title = fmt::format("{} of {} pictures of {} on which the answers differ",
                                        count, list.size(), data.name);
  Svg svg(2 * kMargin + kPicturesARow * kCellWidth, kTop + static_cast<double>(rows) * kCellHeight,
          title);
  svg.text(kMargin, 28, title, {.size = 16, .is_bold = true});
  for (std::size_t i = 0; i < count; ++i) {
    const double left = kMargin + static_cast<double>(i % kPicturesARow) * kCellWidth;
    const double top = kTop + static_cast<double>(i / kPicturesARow) * kCellHeight;
    draw_pixels(svg, picture_of(data.images, list[i].index), left, top);
    svg.text(left, top + kPictureSide + 18,
             fmt::format("{}: {}", list[i].index, class_name(data, list[i].label)));
    svg.text(
        left, top + kPictureSide + 35,
        fmt::format("{} → {}", class_name(data, list[i].first), class_name(data, list[i].second)),
        {.colour = "#666666"});
  }
  const std::string picture = svg.finish();
  if (!is_html) return picture;
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<title>Nibble: answers that differ</title></head>\n<body>\n" +
         picture + "</body></html>\n";
}

void write_pictures(const std::filesystem::path& path, const Dataset& data,
                    std::span<const DifferentPicture> list) {
  write_text_file(path, draw_pictures(data, list, path.extension() == ".html"));
}

}  // namespace nibble::inline tasks
