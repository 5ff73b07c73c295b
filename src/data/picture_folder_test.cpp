// SPDX-License-Identifier: Apache-2.0
// Tests of picture folders: order, splits, channels, sizes, and errors that name the file.
#include "data/picture_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "data/picture_codecs.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class PictureFolder : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_read_png() || !can_read_jpeg()) GTEST_SKIP() << "no libpng or no libjpeg";
  }
  void put(const std::string& path, const std::string& picture) const {
    fs::create_directories((folder_.path() / path).parent_path());
    fs::copy_file(fs::path(NIBBLE_CORPUS_DIR) / picture, folder_.path() / path,
                  fs::copy_options::overwrite_existing);
  }
  Dataset load(Split split = Split::train, std::int64_t size = 0) const {
    return load_dataset(folder_.path().string(), split, {.image_size = size});
  }
  std::string error(Split split = Split::train, std::int64_t size = 0) const {
    return error_of([&] { load(split, size); });
  }
  static std::vector<std::int32_t> labels(const Dataset& dataset) {
    const auto values = dataset.labels.as<std::int32_t>();
    return {values.begin(), values.end()};
  }

  const TemporaryFolder folder_;
};

TEST_F(PictureFolder, ClassesAndFilesComeInTheOrderOfTheirNames) {
  put("dog/2.png", "png/valid_grey8");
  put("dog/10.PNG", "png/valid_grey1");
  put("cat/b.png", "png/valid_interlaced");
  put("Zebra/a.png", "png/valid_grey2");
  folder_.put("dog/notes.txt", "no picture");
  folder_.put("dog/.hidden.png", "no picture");
  folder_.put(".git/x.png", "no picture");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.name, folder_.path().filename().string());
  EXPECT_THAT(dataset.class_names, ElementsAre("Zebra", "cat", "dog"));
  EXPECT_THAT(labels(dataset), ElementsAre(0, 1, 2, 2));
  ASSERT_EQ(dataset.images.shape(), (Shape{4, 4, 5, 1}));
  EXPECT_EQ(dataset.images.as<std::uint8_t>()[40], 255);  // 10.PNG before 2.png
  EXPECT_EQ(dataset.images.as<std::uint8_t>()[79], 228);
  EXPECT_THAT(error(Split::test), HasSubstr("test split"));
}

TEST_F(PictureFolder, SplitsShareClassesAndChannels) {
  put("train/a/1.png", "png/valid_grey8");
  put("train/b/1.png", "png/valid_grey8");
  put("val/b/1.png", "png/valid_rgb8");
  EXPECT_EQ(load().images.shape(), (Shape{2, 4, 5, 3})) << "the other split has colours";
  EXPECT_EQ(load().images.as<std::uint8_t>()[5], 12);
  const Dataset test = load(Split::test);
  EXPECT_THAT(labels(test), ElementsAre(1));
  EXPECT_EQ(test.class_names.size(), 2U);
  put("val/c/1.png", "png/valid_rgb8");
  EXPECT_THAT(error(Split::test), HasSubstr("val: class: got 'c', expected a class of the train"));
  put("test/b/1.png", "png/valid_grey8");
  EXPECT_EQ(load(Split::test).images.shape(), (Shape{1, 4, 5, 1})) << "test counts before val";
}

TEST_F(PictureFolder, SizesMustAgreeOrBeGiven) {
  put("a/1.png", "png/valid_rgb8");
  put("a/2.jpg", "jpeg/valid_grey");
  put("a/3.jpeg", "jpeg/valid_progressive");
  const std::string first = (folder_.path() / "a/1.png").string();
  EXPECT_EQ(error(), "[load_dataset] " + (folder_.path() / "a/2.jpg").string() +
                         ": size: got 12x20, expected 4x5 as " + first + "; --image-size resizes");
  EXPECT_EQ(load(Split::train, 8).images.shape(), (Shape{3, 8, 8, 3}));
  EXPECT_THAT(error(Split::train, -1), HasSubstr("size: got -1"));
}

TEST_F(PictureFolder, PicturesWithoutClassesAreForWhatAsksForNoAnswers) {
  put("b.png", "png/valid_grey1");
  put("a.png", "png/valid_grey8");
  folder_.put("notes.txt", "no picture");
  EXPECT_THAT(error(), HasSubstr("got pictures without classes, expected CLASS/FILE.png: only "
                                 "what asks for no answers takes pictures without labels"));
  const auto unlabelled = [&](std::int64_t size) {
    return load_dataset(folder_.path().string(), Split::train,
                        {.image_size = size, .takes_unlabelled = true});
  };
  EXPECT_EQ(unlabelled(0).images.shape(), (Shape{2, 4, 5, 1}));
  EXPECT_FALSE(unlabelled(0).has_answers());
  EXPECT_EQ(unlabelled(8).images.shape(), (Shape{2, 8, 8, 1}));
  EXPECT_FALSE(has_split(folder_.path().string(), Split::test));
  put("dog/a.png", "png/valid_grey8");  // a class: what lies beside it is none of its pictures
  EXPECT_TRUE(unlabelled(0).has_answers());
}

TEST_F(PictureFolder, ClassesHavePrintableNames) {
  put("\x1b[31mdog/a.png", "png/valid_grey8");
  EXPECT_THAT(error(), HasSubstr(": class: got '\xef\xbf\xbd[31mdog', expected UTF-8 without"));
}

TEST_F(PictureFolder, BrokenPicturesAreNamed) {
  for (int i = 0; i < 20; ++i) put("a/" + std::to_string(100 + i) + ".png", "png/valid_grey8");
  put("a/107.png", "png/bad_no_end");
  put("a/113.png", "png/bad_no_end");
  EXPECT_THAT(error(), HasSubstr("a/107.png: broken PNG: truncated file"));
  folder_.put("a/100.png", "text");
  EXPECT_THAT(error(), HasSubstr("a/100.png: first bytes: got 74 65 78 74"));
}

TEST_F(PictureFolder, OnlyPicturesAreResized) {
  EXPECT_THAT(error_of([] { load_dataset("digits", Split::train, {.image_size = 4}); }),
              HasSubstr("image size for digits: got 4, expected 0"));
  fs::create_directories(folder_.path() / "empty");
  EXPECT_THAT(error(), HasSubstr("no CLASS/FILE.png or .jpg"));
}

}  // namespace
}  // namespace nibble::inline data
