// SPDX-License-Identifier: Apache-2.0
// Tests of pictures: the corpora are read or refused, pixels are those that were written.
#include "data/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/test_corpus.h"
#include "core/test_support.h"
#include "data/file_bytes.h"
#include "data/picture_codecs.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kPictureCorpus = NIBBLE_CORPUS_DIR;

class PictureCorpus : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool can_read = GetParam() == "png" ? can_read_png() : can_read_jpeg();
    if (!can_read) GTEST_SKIP() << "this build reads no " << GetParam();
  }
};

TEST_P(PictureCorpus, IsReadOrRefusedAsItsNamesSay) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kPictureCorpus / GetParam())) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    ++files;
    const std::string error = error_of([&] { read_picture(entry.path()); });
    if (name.starts_with("valid_"))
      EXPECT_EQ(error, "no error");
    else
      EXPECT_THAT(error, HasSubstr(entry.path().string()));
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  EXPECT_GE(files, 30);
}

TEST_P(PictureCorpus, EveryCutOfAFileIsRefused) {
  const std::string some = GetParam() == "png" ? "png/valid_rgb8" : "jpeg/valid_progressive";
  std::ifstream in(kPictureCorpus / some, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(error_of([&] { decode_picture(bytes_of(whole), some); }), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(decode_picture(bytes_of(whole).first(size), some), Error) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PictureCorpus, testing::Values("png", "jpeg"),
                         [](const auto& test) { return test.param; });

TEST(Png, EveryKindHasItsPixels) {
  if (!can_read_png()) GTEST_SKIP() << "no libpng";
  const auto read = [](const std::string& name) {
    return read_picture(kPictureCorpus / "png" / name);
  };
  for (const char* name : {"valid_grey8", "valid_grey16", "valid_grey_alpha8", "valid_interlaced",
                           "valid_grey_transparent", "valid_text_and_profile"}) {
    SCOPED_TRACE(name);
    const Tensor picture = read(name);
    ASSERT_EQ(picture.shape(), (Shape{4, 5, 1}));
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(picture.as<std::uint8_t>()[i], 12 * i);
  }
  for (const char* name : {"valid_rgb8", "valid_rgb16", "valid_rgba8", "valid_rgba16",
                           "valid_palette", "valid_palette_transparent"}) {
    SCOPED_TRACE(name);
    const Tensor picture = read(name);
    ASSERT_EQ(picture.shape(), (Shape{4, 5, 3}));
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(picture.as<std::uint8_t>()[3 * i], 12 * i);
      EXPECT_EQ(picture.as<std::uint8_t>()[3 * i + 1], 255 - 12 * i);
      EXPECT_EQ(picture.as<std::uint8_t>()[3 * i + 2], 7);
    }
  }
  const Tensor four_bits = read("valid_grey4");
  EXPECT_EQ(four_bits.as<std::uint8_t>()[1], 255);
  EXPECT_EQ(four_bits.as<std::uint8_t>()[2], 17);
}

TEST(Jpeg, EveryKindHasItsPixelsNearly) {
  if (!can_read_jpeg()) GTEST_SKIP() << "no libjpeg";
  for (const char* name : {"valid_full_colour", "valid_half_colour", "valid_progressive",
                           "valid_optimized", "valid_rgb_space"}) {
    SCOPED_TRACE(name);
    const Tensor picture = read_picture(kPictureCorpus / "jpeg" / name);
    ASSERT_EQ(picture.shape(), (Shape{12, 20, 3}));
    const auto pixels = picture.as<std::uint8_t>();
    for (int y = 0; y < 12; ++y) {
      for (int x = 0; x < 20; ++x) {
        const auto at = static_cast<std::size_t>(3 * (20 * y + x));
        EXPECT_NEAR(pixels[at], 8 * x, 20);
        EXPECT_NEAR(pixels[at + 1], 200 - 8 * y, 20);
        EXPECT_NEAR(pixels[at + 2], 60, 20);
      }
    }
  }
  const Tensor grey = read_picture(kPictureCorpus / "jpeg/valid_grey");
  ASSERT_EQ(grey.shape(), (Shape{12, 20, 1}));
  EXPECT_NEAR(grey.as<std::uint8_t>()[19], 152, 8);
  // Adobe's files hold light: 8x, 100, 50, and 200 of 255 for black.
  for (const char* name : {"valid_cmyk", "valid_ycck"}) {
    const Tensor ink = read_picture(kPictureCorpus / "jpeg" / name);
    ASSERT_EQ(ink.shape(), (Shape{12, 20, 3}));
    EXPECT_NEAR(ink.as<std::uint8_t>()[3 * 10], 80 * 200 / 255, 8);
    EXPECT_NEAR(ink.as<std::uint8_t>()[3 * 10 + 1], 100 * 200 / 255, 8);
  }
}

TEST(Jpeg, RowsOfAWindowAreThoseOfThePicture) {
  if (!can_read_jpeg()) GTEST_SKIP() << "no libjpeg";
  for_each_corpus_file("jpeg", 10, [](const std::filesystem::path& path, bool is_valid) {
    const std::vector<std::byte> file = read_file_bytes(path, "test");
    const std::string name = path.filename().string();
    if (!is_valid) {
      EXPECT_ANY_THROW(decode_jpeg_rows(file, name, {0, 1, 0, 1}, [](const std::uint8_t*) {}));
      return;
    }
    const Tensor whole = decode_jpeg(file, name);
    const std::int64_t h = whole.shape()[0];
    const std::int64_t w = whole.shape()[1];
    const std::int64_t c = whole.shape()[2];
    for (const PictureWindow& window :
         {PictureWindow{0, h, 0, w}, PictureWindow{h / 3, (h + 3) / 4, w / 3, (w + 3) / 4},
          PictureWindow{h / 2, h - h / 2, w / 2, w - w / 2}, PictureWindow{0, 1, 0, 1},
          PictureWindow{h - 1, 1, w - 1, 1}, PictureWindow{h / 5, h / 2 + 1, 0, w / 2 + 1}}) {
      if (window.first_row + window.rows > h || window.first_column + window.columns > w) continue;
      std::int64_t y = window.first_row;
      const bool has_rows = decode_jpeg_rows(file, name, window, [&](const std::uint8_t* pixels) {
        const std::uint8_t* wanted =
            whole.as<std::uint8_t>().data() + (y++ * w + window.first_column) * c;
        EXPECT_TRUE(std::equal(pixels, pixels + window.columns * c, wanted))
            << name << " row " << y - 1 << " of window " << window.first_column;
      });
      EXPECT_EQ(y, has_rows ? window.first_row + window.rows : window.first_row) << name;
    }
  });
}

TEST(PictureErrors, SayWhatIsWrong) {
  if (!can_read_png() || !can_read_jpeg()) GTEST_SKIP() << "no libpng or no libjpeg";
  const auto error = [](const std::string& name) {
    return error_of([&] { read_picture(kPictureCorpus / name); });
  };
  EXPECT_THAT(error("png/bad_truncated"), HasSubstr("bad_truncated: broken PNG: truncated file"));
  EXPECT_THAT(error("png/bad_huge"), HasSubstr("pixels: got 30000x30000, expected at most"));
  EXPECT_THAT(error("jpeg/bad_truncated"), HasSubstr("broken JPEG: truncated file"));
  EXPECT_THAT(error("jpeg/bad_huge"), HasSubstr("pixels: got 32767x32767"));
  EXPECT_THAT(error("jpeg/bad_text"), HasSubstr("first bytes: got 74 68 69 73"));
  EXPECT_THAT(error("png/bad_empty"), HasSubstr("first bytes: got none"));
  EXPECT_THAT(error("absent.png"), HasSubstr("[read_picture] cannot read"));
}

}  // namespace
}  // namespace nibble::inline data
