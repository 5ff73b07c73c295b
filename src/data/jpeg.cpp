// SPDX-License-Identifier: Apache-2.0
// libjpeg behind decode_jpeg. Its errors jump: between setjmp and longjmp nothing needs a
// destructor.
#include "data/picture_codecs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>
// jpeglib.h comes first
#include <jerror.h>

#include <vector>

#include "data/picture.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr int kMostScans = 500;  // a progressive file may ask for all its pixels again and again
constexpr int kInkChannels = 4;

struct JpegReader {
  explicit JpegReader(std::span<const std::byte> bytes) {
    source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source.bytes_in_buffer = bytes.size();
  }
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_source_mgr source = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf jump = {};
  std::array<char, JMSG_LENGTH_MAX> why = {};
};

JpegReader& reader_of(j_common_ptr info) {
  return *static_cast<JpegReader*>(info->client_data);
}

[[noreturn]] void stop(JpegReader& reader, const char* why) {
  std::snprintf(reader.why.data(), reader.why.size(), "%s", why);
  std::longjmp(reader.jump, 1);
}

extern "C" {

[[noreturn]] static void jpeg_failed(j_common_ptr info) {
  JpegReader& reader = reader_of(info);
  info->err->format_message(info, reader.why.data());
  std::longjmp(reader.jump, 1);
}

// Level -1 is a warning: what is broken but could be guessed. Only harmless ones are let pass.
static void jpeg_warned(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool is_harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
  if (level < 0 && !is_harmless) jpeg_failed(info);
}

static void jpeg_init(j_decompress_ptr) {}

static boolean jpeg_more(j_decompress_ptr info) {
  stop(reader_of(reinterpret_cast<j_common_ptr>(info)), "truncated file");
}

static void jpeg_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<unsigned long>(count) > info->src->bytes_in_buffer) jpeg_more(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

static void jpeg_step(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) {
    stop(reader_of(info), "too many scans");
  }
}

}  // extern "C"

// Up to the pixels; the output is grey, RGB, or CMYK of which RGB is made.
bool read_header(JpegReader& reader) {
  jpeg_decompress_struct& info = reader.info;
  info.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = jpeg_failed;
  reader.errors.emit_message = jpeg_warned;
  info.client_data = &reader;
  if (setjmp(reader.jump) != 0) return false;
  jpeg_create_decompress(&info);  // keeps err and client_data
  reader.source.init_source = jpeg_init;
  reader.source.fill_input_buffer = jpeg_more;
  reader.source.skip_input_data = jpeg_skip;
  reader.source.resync_to_restart = jpeg_resync_to_restart;
  reader.source.term_source = jpeg_init;
  info.src = &reader.source;
  reader.progress.progress_monitor = jpeg_step;
  info.progress = &reader.progress;
  jpeg_read_header(&info, TRUE);
  const bool is_grey = info.jpeg_color_space == JCS_GRAYSCALE;
  info.out_color_space = is_grey                               ? JCS_GRAYSCALE
                         : info.num_components == kInkChannels ? JCS_CMYK
                                                               : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  return true;
}

bool start_pixels(JpegReader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  jpeg_start_decompress(&reader.info);
  return true;
}

bool read_pixels(JpegReader& reader, JSAMPROW* rows) {
  if (setjmp(reader.jump) != 0) return false;
  jpeg_decompress_struct& info = reader.info;
  while (info.output_scanline < info.output_height) {
    jpeg_read_scanlines(&info, rows + info.output_scanline,
                        info.output_height - info.output_scanline);
  }
  return true;
}

bool finish(JpegReader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  jpeg_finish_decompress(&reader.info);
  return true;
}

// The next rows, each over the last.
bool read_rows(JpegReader& reader, JSAMPROW row, std::int64_t count) {
  if (setjmp(reader.jump) != 0) return false;
  for (std::int64_t i = 0; i < count; ++i) jpeg_read_scanlines(&reader.info, &row, 1);
  return true;
}

#ifdef LIBJPEG_TURBO_VERSION

// Leaves columns out that are far from those wanted. At its edges the rest is not what the whole
// picture has: chroma is smoothed there as at the edge of a picture.
bool keep_columns(JpegReader& reader, const PictureWindow& window, std::int64_t& first) {
  constexpr std::int64_t kEdge = 8;
  constexpr std::int64_t kWorthIt = 32;
  const std::int64_t width = reader.info.output_width;
  const std::int64_t begin = std::max<std::int64_t>(window.first_column - kEdge, 0);
  const std::int64_t end = std::min(window.first_column + window.columns + kEdge, width);
  if (width - (end - begin) < kWorthIt) return true;
  auto offset = static_cast<JDIMENSION>(begin);
  auto kept = static_cast<JDIMENSION>(end - begin);
  if (setjmp(reader.jump) != 0) return false;
  jpeg_crop_scanline(&reader.info, &offset, &kept);
  first = offset;
  return true;
}

bool skip_rows(JpegReader& reader, JSAMPROW, std::int64_t count) {
  if (setjmp(reader.jump) != 0) return false;
  if (count > 0) jpeg_skip_scanlines(&reader.info, static_cast<JDIMENSION>(count));
  return true;
}

#else

bool keep_columns(JpegReader&, const PictureWindow&, std::int64_t&) {
  return true;
}

bool skip_rows(JpegReader& reader, JSAMPROW row, std::int64_t count) {
  return read_rows(reader, row, count);
}

#endif

[[noreturn]] void fail(const JpegReader& reader, const std::string& name) {
  throw Error("read_jpeg", fmt::format("{}: broken JPEG: {}", name, reader.why.data()),
              ErrorKind::input);
}

Shape read_shape(JpegReader& reader, const std::string& name) {
  if (!read_header(reader)) fail(reader, name);
  const std::int64_t height = reader.info.image_height;
  const std::int64_t width = reader.info.image_width;
  if (std::max(height, width) > kMostPictureSide || height * width > kMostPicturePixels) {
    throw Error("read_jpeg", name + ": pixels", fmt::format("{}x{}", height, width),
                fmt::format("at most {}, {} a side", kMostPicturePixels, kMostPictureSide),
                ErrorKind::limit);
  }
  return Shape{height, width, reader.info.out_color_space == JCS_GRAYSCALE ? 1 : 3};
}

// Ink on white: the share of light that black lets pass, times that of the other ink. Adobe's files
// hold light instead of ink.
void rgb_from_ink(const Tensor& ink, bool is_light, Tensor& picture) {
  const auto from = ink.as<std::uint8_t>();
  const auto to = picture.as<std::uint8_t>();
  for (std::size_t pixel = 0; pixel < to.size() / 3; ++pixel) {
    const auto light = [&](std::size_t channel) {
      const unsigned value = from[pixel * std::size_t{kInkChannels} + channel];
      return is_light ? value : 255 - value;
    };
    for (std::size_t channel = 0; channel < 3; ++channel) {
      to[pixel * 3 + channel] = static_cast<std::uint8_t>((light(channel) * light(3) + 127) / 255);
    }
  }
}

}  // namespace

bool can_read_jpeg() {
  return true;
}

Shape jpeg_shape(std::span<const std::byte> bytes, const std::string& name) {
  JpegReader reader(bytes);
  return read_shape(reader, name);
}

Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name) {
  JpegReader reader(bytes);
  const Shape shape = read_shape(reader, name);
  const bool is_ink = reader.info.out_color_space == JCS_CMYK;
  const bool is_light = reader.info.saw_Adobe_marker != 0;
  if (!start_pixels(reader)) fail(reader, name);
  const Shape decoded{shape[0], shape[1], is_ink ? std::int64_t{kInkChannels} : shape[2]};
  if (reader.info.output_components != decoded[2]) {
    throw Error("read_jpeg", name + ": channels", std::to_string(reader.info.output_components),
                std::to_string(decoded[2]), ErrorKind::input);
  }
  Tensor pixels(DType::u8, decoded);
  std::vector<JSAMPROW> rows(static_cast<std::size_t>(shape[0]));
  std::uint8_t* at = pixels.as<std::uint8_t>().data();
  for (JSAMPROW& row : rows) {
    row = at;
    at += decoded[1] * decoded[2];
  }
  if (!read_pixels(reader, rows.data()) || !finish(reader)) fail(reader, name);
  if (!is_ink) return pixels;
  Tensor picture(DType::u8, shape);
  rgb_from_ink(pixels, is_light, picture);
  return picture;
}

bool decode_jpeg_rows(std::span<const std::byte> bytes, const std::string& name,
                      const PictureWindow& window,
                      const std::function<void(const std::uint8_t* pixels)>& take) {
  JpegReader reader(bytes);
  const Shape shape = read_shape(reader, name);
  if (reader.info.out_color_space == JCS_CMYK) return false;
  std::int64_t first = 0;  // column that rows begin with
  if (!start_pixels(reader) || !keep_columns(reader, window, first)) fail(reader, name);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(shape[1] * shape[2]));
  const std::uint8_t* wanted = row.data() + (window.first_column - first) * shape[2];
  if (!skip_rows(reader, row.data(), window.first_row)) fail(reader, name);
  for (std::int64_t y = 0; y < window.rows; ++y) {
    if (!read_rows(reader, row.data(), 1)) fail(reader, name);
    take(wanted);
  }
  // The last row is read, so that all before it are known to be there.
  const std::int64_t left = shape[0] - window.first_row - window.rows;
  const bool is_whole =
      left == 0 || (skip_rows(reader, row.data(), left - 1) && read_rows(reader, row.data(), 1));
  if (!is_whole || !finish(reader)) fail(reader, name);
  return true;
}

}  // namespace nibble::inline data
