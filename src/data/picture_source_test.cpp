// SPDX-License-Identifier: Apache-2.0
// Tests of pictures that are decoded when they are asked for: the same pixels as in memory, from
// folders, lists and archives, of any size, whole or broken.
#include "data/picture_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "core/warning.h"
#include "data/picture_codecs.h"
#include "data/test_tar.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr AugmentOptions kAugment{.padding = 3, .has_flip = true, .cutout = 5};

class Pictures : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_read_png() || !can_read_jpeg()) GTEST_SKIP() << "no libpng or no libjpeg";
  }
  static std::string corpus(const std::string& picture) {
    std::ifstream in(fs::path(NIBBLE_CORPUS_DIR) / picture, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& path, const std::string& picture) const {
    folder_.put(path, corpus(picture));
  }
  void put_classes() const {
    put("a/1.jpg", "jpeg/valid_wide_420");
    put("a/2.jpg", "jpeg/valid_wide_grey");
    put("b/1.jpg", "jpeg/valid_tall_422");
    put("b/2.png", "png/valid_rgb8");
    put("b/3.jpg", "jpeg/valid_wide_progressive");
    put("c/1.jpg", "jpeg/valid_cmyk");
  }
  Dataset load(LoadOptions options = {}, const std::string& path = "") const {
    if (!options.input && options.image_size == 0) options.input = Shape{20, 16, 3};
    return load_dataset((folder_.path() / path).string(), Split::train, options);
  }
  std::string error(const LoadOptions& options = {}, const std::string& path = "") const {
    return error_of([&] { load(options, path); });
  }

  const TemporaryFolder folder_;
};

Tensor gathered(const Dataset& data, std::span<const std::int32_t> indices,
                const AugmentOptions& augment) {
  const Shape& shape = data.images.shape();
  Tensor batch(DType::u8,
               {static_cast<std::int64_t>(indices.size()), shape[1], shape[2], shape[3]});
  gather_images(data.images, indices, augment, {.seed = 4, .epoch = 2}, batch.view());
  return batch;
}

bool are_equal(const Tensor& one, const Tensor& other) {
  return one.shape() == other.shape() &&
         std::ranges::equal(one.as<std::uint8_t>(), other.as<std::uint8_t>());
}

std::vector<std::int32_t> labels_of(const Dataset& data) {
  const auto labels = data.labels.as<std::int32_t>();
  return {labels.begin(), labels.end()};
}

TEST_F(Pictures, AreTheSameInMemoryAndFromFiles) {
  put_classes();
  const std::vector<std::int32_t> indices = {5, 0, 3, 3, 1, 4, 2};
  for (const LoadOptions& options :
       {LoadOptions{.input = Shape{20, 16, 3}}, LoadOptions{.input = Shape{12, 12, 1}},
        LoadOptions{.image_size = 9}}) {
    const Dataset memory = load(options);
    LoadOptions streamed = options;
    streamed.most_in_memory = 100;
    const Dataset files = load(streamed);
    ASSERT_TRUE(memory.images.is_in_memory());
    ASSERT_FALSE(files.images.is_in_memory());
    EXPECT_EQ(files.images.shape(), memory.images.shape());
    EXPECT_EQ(labels_of(files), labels_of(memory));
    for (const AugmentOptions& augment : {AugmentOptions{}, kAugment})
      EXPECT_TRUE(are_equal(gathered(files, indices, augment), gathered(memory, indices, augment)));
    const std::vector<std::int32_t> some = {4, 1};
    const std::vector<std::int32_t> all = {0, 1};
    Dataset part;
    part.images = files.images.chosen(some);
    EXPECT_TRUE(are_equal(gathered(part, all, {}), gathered(memory, some, {})));
    EXPECT_EQ(hash_of(files), hash_of(load(streamed)));
    EXPECT_NE(hash_of(files), hash_of(memory));
    EXPECT_THAT(error_of([&] { files.images.view(); }), HasSubstr("read as they are needed"));
  }
  const std::uint64_t before = hash_of(load({.most_in_memory = 0}));
  put("c/2.jpg", "jpeg/valid_wide_444");
  EXPECT_NE(hash_of(load({.most_in_memory = 0})), before);
}

TEST_F(Pictures, StayAsTheyAreWhereAllFitAndElseTheirMiddleIsTaken) {
  put("a/1.png", "png/valid_rgb8");
  put("a/2.png", "png/valid_grey8");
  const LoadOptions options{.input = Shape{4, 5, 3}};
  const Tensor same = with_channels(read_picture(folder_.path() / "a/1.png"), 3);
  const std::vector<std::int32_t> first = {0};
  const Tensor whole = gathered(load(options), first, {});
  EXPECT_TRUE(std::ranges::equal(whole.as<std::uint8_t>(), same.as<std::uint8_t>()));
  put("b/1.jpg", "jpeg/valid_wide_420");
  const Tensor middle = middle_of_picture(same.view(), published_middle(4, 5));
  const Tensor now = gathered(load(options), first, {});
  EXPECT_TRUE(std::ranges::equal(now.as<std::uint8_t>(), middle.as<std::uint8_t>()));
  EXPECT_FALSE(std::ranges::equal(now.as<std::uint8_t>(), same.as<std::uint8_t>()));
}

TEST_F(Pictures, OfAListHaveItsOrderAndLabels) {
  put("x.jpg", "jpeg/valid_wide_420");
  put("y.jpg", "jpeg/valid_tall_422");
  folder_.put("val_map.txt", "y.jpg 7\nabsent.jpg 1\nx.jpg 2\n");
  const Dataset data = load();
  EXPECT_THAT(labels_of(data), ElementsAre(7, 2));
  EXPECT_EQ(data.class_names.size(), 8U);
  const std::vector<std::int32_t> first = {0};
  const Tensor picture = read_picture(folder_.path() / "y.jpg");
  const Tensor middle = middle_of_picture(picture.view(), published_middle(20, 16));
  EXPECT_TRUE(
      std::ranges::equal(gathered(data, first, {}).as<std::uint8_t>(), middle.as<std::uint8_t>()));
  EXPECT_TRUE(has_split(folder_.path().string(), Split::train));
  EXPECT_FALSE(has_split(folder_.path().string(), Split::test));
}

TEST_F(Pictures, OfArchivesAreThoseOfFolders) {
  put_classes();
  const Dataset folders = load();
  const std::vector<std::int32_t> all = {0, 1, 2, 3, 4, 5};
  const auto member = [&](const std::string& path, const std::string& name) {
    return tar_file(name, folder_.content_of(path));
  };
  // Folders inside an archive, numbers beside pictures, and a class an archive.
  folder_.put("one/x.tar", member("a/1.jpg", "x/a/1.jpg") + member("a/2.jpg", "./a/2.jpg") +
                               member("b/1.jpg", "b/1.jpg") + kTarEnd);
  folder_.put("one/y.tar", member("b/2.png", "b/2.png") + member("b/3.jpg", "b/3.jpg") +
                               tar_file("c/readme", "no picture") + member("c/1.jpg", "c/1.jpg") +
                               kTarEnd);
  folder_.put("two/x.tar", member("a/1.jpg", "1.jpg") + tar_file("1.cls", "0") +
                               tar_file("2.cls", "0\n") + member("a/2.jpg", "2.jpg") +
                               member("b/1.jpg", "3.jpg") + tar_file("3.cls", "1") + kTarEnd);
  folder_.put("two/y.tar", member("b/2.png", "4.png") + tar_file("4.cls", "1") +
                               member("b/3.jpg", "5.jpg") + tar_file("5.cls", "1") +
                               member("c/1.jpg", "6.jpg") + tar_file("6.cls", "2") + kTarEnd);
  folder_.put("three/a.tar", member("a/1.jpg", "1.jpg") + member("a/2.jpg", "2.jpg") + kTarEnd);
  folder_.put("three/b.tar", member("b/1.jpg", "1.jpg") + member("b/2.png", "2.png") +
                                 member("b/3.jpg", "3.jpg") + kTarEnd);
  folder_.put("three/c.tar", member("c/1.jpg", "1.jpg") + kTarEnd);
  for (const char* path : {"one", "two", "three"}) {
    for (const std::int64_t most : {0, 1 << 20}) {
      const Dataset data = load({.most_in_memory = most}, path);
      EXPECT_EQ(labels_of(data), labels_of(folders)) << path;
      EXPECT_EQ(data.class_names.size(), 3U) << path;
      EXPECT_TRUE(are_equal(gathered(data, all, kAugment), gathered(folders, all, kAugment)))
          << path;
    }
  }
  EXPECT_THAT(error({}, "three/c.tar"), HasSubstr("pictures without classes"));
  EXPECT_FALSE(load({.takes_unlabelled = true}, "three/c.tar").has_answers());
  folder_.put("two/z.tar", member("c/1.jpg", "7.jpg") + kTarEnd);
  EXPECT_THAT(error({}, "two"), HasSubstr("z.tar: 7.jpg: got no class as the others have it"));
  folder_.put("two/z.tar", member("c/1.jpg", "7.jpg") + tar_file("7.cls", "x") + kTarEnd);
  EXPECT_THAT(error({}, "two"), HasSubstr("7.cls: got 'x', expected a class of 0 to 65535"));
  folder_.put("two/z.tar",
              member("c/1.jpg", "7.jpg") + tar_file("7.cls", std::string(16, '0') + "2") + kTarEnd);
  EXPECT_THAT(error({}, "two"), HasSubstr("7.cls: got '0000000000000000', expected a class"));
}

TEST_F(Pictures, ThatAreBrokenAreNamedAndCountedOrLeftOut) {
  put_classes();
  put("b/4.jpg", "jpeg/bad_truncated");
  folder_.put("b/5.png", "text");
  for (const std::int64_t most : {0, 1 << 20}) {
    const auto read_all = [&](const LoadOptions& options) {
      const Dataset data = load(options);
      std::vector<std::int32_t> all(static_cast<std::size_t>(data.size()));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
      return gathered(data, all, {}).shape()[0];
    };
    const std::string text = error_of([&] { read_all({.most_in_memory = most}); });
    EXPECT_THAT(text, HasSubstr("b/4.jpg: broken JPEG"));
    EXPECT_THAT(text, HasSubstr("2 of 8 pictures cannot be taken: --skip-broken"));
    take_warnings();
    EXPECT_EQ(read_all({.skips_broken = true, .most_in_memory = most}), 6);
    const std::vector<std::string> warnings = take_warnings();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0], HasSubstr("2 of 8 pictures left out"));
    EXPECT_THAT(warnings[0], HasSubstr("b/4.jpg: broken JPEG"));
    EXPECT_THAT(warnings[0], HasSubstr("b/5.png: first bytes"));
  }
  const Dataset whole = load({.skips_broken = true});
  EXPECT_THAT(labels_of(whole), ElementsAre(0, 0, 1, 1, 1, 2));
  fs::remove_all(folder_.path() / "a");
  fs::remove_all(folder_.path() / "b");
  put("c/1.jpg", "jpeg/bad_truncated");
  EXPECT_THAT(error({.skips_broken = true}), HasSubstr("all broken"));
}

TEST_F(Pictures, ThatVanishAreAnErrorWhateverIsSkipped) {
  put_classes();
  const Dataset data = load({.skips_broken = true, .most_in_memory = 0});
  fs::remove(folder_.path() / "b/1.jpg");
  const std::vector<std::int32_t> third = {2};
  EXPECT_THAT(error_of([&] { gathered(data, third, {}); }), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace nibble::inline data
