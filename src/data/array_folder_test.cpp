// SPDX-License-Identifier: Apache-2.0
// Tests of data sets of one's own: .npy files in a folder, with and without splits.
#include "data/array_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/data_test_support.h"
#include "nibble/core/npy.h"

namespace nibble {
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
  EXPECT_THAT(error(), HasSubstr("no images.npy and labels.npy"));
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
  const std::vector<float> pixels(8);
  write_npy(folder_.path() / "images.npy", view_of(std::span<const float>(pixels)));
  put<std::uint8_t>("train/", {2, 2, 2}, {0, 1});
  write_npy(folder_.path() / "train/images.npy", view_of(std::span<const float>(pixels)));
  folder_.put("class_names.txt", "a\nb\n");
  EXPECT_THAT(error(), HasSubstr("images.npy: element type: got f32, expected u8"));
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
}  // namespace nibble
