// SPDX-License-Identifier: Apache-2.0
// Tests of data sets as files of pictures.
#include "data/picture_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "data/picture_codecs.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {
namespace {

// Five pictures of 2x3 in colours, whose labels are 1, 0, 2, 0, 1.
MemoryDataset five_pictures() {
  Tensor images(DType::u8, {5, 2, 3, 3});
  const auto pixels = images.as<std::uint8_t>();
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i * i * 31 + 7);
  Tensor labels(DType::i32, {5});
  std::ranges::copy(std::vector<std::int32_t>{1, 0, 2, 0, 1}, labels.as<std::int32_t>().begin());
  std::map<std::string, Tensor> arrays;
  arrays.emplace("images", std::move(images));
  arrays.emplace("labels", std::move(labels));
  return {"five", std::move(arrays)};
}

class ExportedSets : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_read_png()) GTEST_SKIP() << "this build has no libpng";
  }
  TemporaryFolder folder_;
};

TEST_F(ExportedSets, HaveTheSamePixelsAndLabelsClassByClass) {
  const MemoryDataset five = five_pictures();
  const std::filesystem::path out = folder_.path() / "out";
  EXPECT_EQ(export_pictures("five", out).train, 5);
  EXPECT_TRUE(std::filesystem::exists(out / "train" / "2" / "2.png"));
  const Dataset before = load_dataset("five", Split::train);
  const Dataset after = load_dataset(out.string(), Split::train);
  const std::vector<std::size_t> order = {1, 3, 0, 4, 2};  // by class, then by number
  const std::size_t bytes = 2 * 3 * 3;
  ASSERT_EQ(after.images.shape(), before.images.shape());
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(after.labels.as<std::int32_t>()[i], before.labels.as<std::int32_t>()[order[i]]);
    EXPECT_TRUE(
        std::ranges::equal(after.images.as<std::uint8_t>().subspan(i * bytes, bytes),
                           before.images.as<std::uint8_t>().subspan(order[i] * bytes, bytes)));
  }
}

TEST_F(ExportedSets, HaveBothSplitsAndGreyPictures) {
  const std::filesystem::path out = folder_.path() / "digits";
  const ExportedPictures exported = export_pictures("digits", out);
  EXPECT_EQ(exported.train, 1437);
  EXPECT_EQ(exported.test, 360);
  EXPECT_EQ(load_dataset(out.string(), Split::test).images.shape(), (Shape{360, 8, 8, 1}));
}

TEST_F(ExportedSets, AppearWholeAndReplaceNothing) {
  const MemoryDataset five = five_pictures();
  folder_.put("out", "");
  EXPECT_THAT(error_of([&] { export_pictures("five", folder_.path() / "out"); }),
              testing::HasSubstr("got what is there already, expected a new folder"));
  EXPECT_EQ(folder_.content_of("out"), "");
}

TEST_F(ExportedSets, ArePicturesAlone) {
  Tensor images(DType::f32, {1, 2, 2, 1});
  Tensor labels(DType::i32, {1});
  labels.as<std::int32_t>()[0] = 0;
  std::ranges::fill(images.as<float>(), 0.0F);
  std::map<std::string, Tensor> arrays;
  arrays.emplace("images", std::move(images));
  arrays.emplace("labels", std::move(labels));
  const MemoryDataset floats("floats", std::move(arrays));
  EXPECT_THAT(error_of([&] { export_pictures("floats", folder_.path() / "out"); }),
              testing::HasSubstr("expected pictures of bytes, grey or in colours"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
}

}  // namespace
}  // namespace nibble::inline data
