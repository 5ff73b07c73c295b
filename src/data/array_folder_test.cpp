// SPDX-License-Identifier: Apache-2.0
// Tests of data sets of one's own: .npy files in a folder, with and without splits.
#include "data/array_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/test_support.h"
#include "nibble/core/npy.h"

namespace nibble::inline data {
namespace {

using testing::HasSubstr;

class ArrayFolder : public testing::Test {
 protected:
  template <class T>
  void put(const std::string& folder, const Shape& images, const std::vector<T>& labels) const {
    folder_.put(folder + "images.npy", "");
    Tensor pixels(DType::u8, images);
    std::iota(pixels.as<std::uint8_t>().begin(), pixels.as<std::uint8_t>().end(), std::uint8_t{0});
    write_npy(folder_.path() / folder / "images.npy", pixels.view());
    write_npy(folder_.path() / folder / "labels.npy", view_of(std::span<const T>(labels)));
  }
  Dataset load(Split split) const { return load_dataset(folder_.path().string(), split); }
  std::string error(Split split = Split::train) const {
    return error_of([&] { load(split); });
  }

  const TemporaryFolder folder_;
};

TEST_F(ArrayFolder, WithoutSplitsIsAllForTraining) {
  put<std::int64_t>("", {3, 2, 2}, {0, 4, 1});
  const Dataset dataset = load(Split::train);
  EXPECT_EQ(dataset.name, folder_.path().filename().string());
  EXPECT_EQ(dataset.images.shape(), (Shape{3, 2, 2, 1}));
  EXPECT_EQ(dataset.images.as<std::uint8_t>()[11], 11);
  EXPECT_EQ(dataset.labels.as<std::int32_t>()[1], 4);
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  EXPECT_THAT(error(Split::test), HasSubstr("test split"));
}

TEST_F(ArrayFolder, SplitsShareTheirClasses) {
  put<std::uint8_t>("train/", {2, 2, 3, 3}, {0, 5});
  put<std::int32_t>("test/", {1, 2, 3, 3}, {1});
  EXPECT_EQ(load(Split::train).images.shape(), (Shape{2, 2, 3, 3}));
  EXPECT_EQ(load(Split::test).size(), 1);
  EXPECT_EQ(load(Split::test).class_names.size(), 6U);
  EXPECT_EQ(load_dataset(folder_.path().string() + "/", Split::test).name,
            folder_.path().filename().string());
}

TEST_F(ArrayFolder, NamesOfClassesComeFromTheirFile) {
  put<std::uint8_t>("", {2, 2, 2}, {0, 1});
  folder_.put("class_names.txt", "cat\r\nold dog\n");
  EXPECT_EQ(load(Split::train).class_names, (std::vector<std::string>{"cat", "old dog"}));
  folder_.put("class_names.txt", "cat\n");
  EXPECT_THAT(error(), HasSubstr("labels.npy: label 1: got 1, expected 0 to 0"));
  folder_.put("class_names.txt", "\n");
  EXPECT_THAT(error(), HasSubstr("class_names.txt: names: got 0"));
}

TEST_F(ArrayFolder, WrongArraysAreRefused) {
  EXPECT_THAT(error(), HasSubstr("no images.npy with labels.npy or targets.npy"));
  put<std::uint8_t>("", {2, 2}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("images.npy: shape: got (2, 2), expected (n, h, w)"));
  put<std::uint8_t>("", {3, 2, 2}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("labels.npy: shape: got (2,), expected (3,)"));
  put<float>("", {2, 2, 2}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("labels.npy: element type: got f32, expected integers"));
  put<std::int64_t>("", {2, 2, 2}, {0, -1});
  EXPECT_THAT(error(), HasSubstr("label 1: got -1"));
  put<std::uint64_t>("", {2, 2, 2}, {0, ~0ULL});
  EXPECT_THAT(error(), HasSubstr("label 1: got 18446744073709551615, expected 0 to 65535"));
  const std::vector<double> pixels(8);
  put<std::uint8_t>("train/", {2, 2, 2}, {0, 1});
  write_npy(folder_.path() / "train/images.npy", view_of(std::span<const double>(pixels)));
  folder_.put("class_names.txt", "a\nb\n");
  EXPECT_THAT(error(), HasSubstr("images.npy: element type: got f64, expected u8 or f32"));
}

TEST_F(ArrayFolder, FloatFeaturesHaveAnyRankUpToPictures) {
  put<std::uint8_t>("", {2, 2, 2}, {0, 1});
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), -3.5F);
  const auto put_images = [&](const Shape& shape) {
    write_npy(folder_.path() / "images.npy",
              {reinterpret_cast<const std::byte*>(values.data()), DType::f32, shape});
  };
  put_images({2, 12});
  EXPECT_EQ(load(Split::train).images.shape(), (Shape{2, 1, 1, 12}));
  put_images({2, 3, 4});
  EXPECT_EQ(load(Split::train).images.shape(), (Shape{2, 3, 4, 1}));
  put_images({2, 3, 2, 2});
  const Dataset dataset = load(Split::train);
  EXPECT_EQ(dataset.images.shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(dataset.images.as<float>()[23], 19.5F);
  EXPECT_EQ(dataset.labels.as<std::int32_t>()[1], 1);
  const std::uint64_t hash = hash_of(dataset);
  values[5] = std::nextafter(values[5], 0.0F);
  put_images({2, 3, 2, 2});
  EXPECT_NE(hash_of(load(Split::train)), hash);
  put_images({24});
  EXPECT_THAT(error(), HasSubstr("images.npy: shape: got (24,), expected (n, k)"));
  values[7] = std::numeric_limits<float>::quiet_NaN();
  put_images({2, 12});
  EXPECT_THAT(error(), HasSubstr("images.npy: element 7: got nan, expected a finite number"));
}

TEST_F(ArrayFolder, TargetsTakeThePlaceOfLabels) {
  put<std::uint8_t>("train/", {2, 2, 2}, {0, 1});
  std::filesystem::remove(folder_.path() / "train/labels.npy");
  std::vector<float> values = {1.5F, -2.0F, 3.0F, 4.0F};
  const auto put_targets = [&](const Shape& shape) {
    write_npy(folder_.path() / "train/targets.npy",
              {reinterpret_cast<const std::byte*>(values.data()), DType::f32, shape});
  };
  put_targets({2, 2});
  const Dataset dataset = load(Split::train);
  EXPECT_TRUE(dataset.has_targets());
  EXPECT_EQ(dataset.targets.shape(), (Shape{2, 2}));
  EXPECT_EQ(dataset.targets.as<float>()[2], 3.0F);
  EXPECT_TRUE(dataset.class_names.empty());
  put_targets({2});
  EXPECT_EQ(load(Split::train).targets.shape(), (Shape{2, 1}));
  EXPECT_NE(hash_of(load(Split::train)), hash_of(dataset));
  put_targets({4});
  EXPECT_THAT(error(), HasSubstr("targets.npy: shape: got (4,), expected (2,) or (2, k)"));
  values[1] = std::numeric_limits<float>::infinity();
  put_targets({2});
  EXPECT_THAT(error(), HasSubstr("targets.npy: element 1: got inf, expected a finite number"));
  put<std::uint8_t>("train/", {2, 2, 2}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("got both train/labels and train/targets"));
}

TEST_F(ArrayFolder, EveryWidthOfIntegersIsALabel) {
  put<std::int8_t>("", {2, 1, 1}, {1, 2});
  EXPECT_EQ(load(Split::train).labels.as<std::int32_t>()[1], 2);
  put<std::int16_t>("", {2, 1, 1}, {1, 300});
  EXPECT_EQ(load(Split::train).labels.as<std::int32_t>()[1], 300);
  put<std::uint16_t>("", {2, 1, 1}, {1, 65535});
  EXPECT_EQ(load(Split::train).class_names.size(), 65536U);
  put<std::uint32_t>("", {2, 1, 1}, {1, 7});
  EXPECT_EQ(load(Split::train).labels.as<std::int32_t>()[1], 7);
}

}  // namespace
}  // namespace nibble::inline data
