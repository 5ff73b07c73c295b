// SPDX-License-Identifier: Apache-2.0
#include "nibble/data/dataset.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "nibble/core/error.h"

namespace nibble {
namespace {

std::map<std::string, Tensor> arrays_of(bool has_labels) {
  std::map<std::string, Tensor> arrays;
  Tensor images(DType::u8, {3, 2, 2});
  for (std::uint8_t i = 0; auto& each : images.as<std::uint8_t>()) each = i++;
  arrays["images"] = std::move(images);
  if (!has_labels) return arrays;
  Tensor labels(DType::i64, {3});
  for (std::int64_t i = 0; auto& each : labels.as<std::int64_t>()) each = i++;
  arrays["labels"] = std::move(labels);
  return arrays;
}

TEST(MemoryDataset, IsFoundByNameWhileItLives) {
  {
    const MemoryDataset kept("mine", arrays_of(true));
    const Dataset data = load_dataset("mine", Split::train);
    EXPECT_EQ(data.size(), 3);
    EXPECT_EQ(data.images.shape(), (Shape{3, 2, 2, 1}));
    EXPECT_EQ(data.labels.as<std::int32_t>()[2], 2);
    EXPECT_EQ(data.class_names.size(), 3U);
    EXPECT_EQ(data.name, "mine");
    EXPECT_TRUE(has_split("mine", Split::train));
    EXPECT_FALSE(has_split("mine", Split::test));
  }
  EXPECT_THROW(load_dataset("mine", Split::train), Error);
}

std::int64_t size_of_mine() {
  return load_dataset("mine", Split::train, {.takes_unlabelled = true}).size();
}

std::map<std::string, Tensor> pictures(std::int64_t count) {
  std::map<std::string, Tensor> arrays;
  arrays["images"] = Tensor(DType::u8, {count, 2, 2});
  return arrays;
}

TEST(MemoryDataset, OfOneNameTheLastIsFoundWhileItLives) {
  const MemoryDataset outer("mine", pictures(1));
  {
    const MemoryDataset inner("mine", pictures(2));
    EXPECT_EQ(size_of_mine(), 2);
  }
  EXPECT_EQ(size_of_mine(), 1);
}

TEST(MemoryDataset, OfOneNameAThreadFindsItsOwn) {
  const MemoryDataset first("mine", pictures(1));
  std::thread([] {
    EXPECT_EQ(size_of_mine(), 1);
    const MemoryDataset own("mine", pictures(2));
    EXPECT_EQ(size_of_mine(), 2);
  }).join();
  const MemoryDataset second("other", pictures(3));
  EXPECT_EQ(size_of_mine(), 1);
}

TEST(MemoryDataset, OfOneNameAThreadWithoutOneGuessesNone) {
  const MemoryDataset first("mine", pictures(1));
  std::optional<MemoryDataset> second;
  std::thread([&] { second.emplace("mine", pictures(2)); }).join();
  std::thread([] {
    EXPECT_THROW(size_of_mine(), Error);
    EXPECT_THROW(has_split("mine", Split::train), Error);
  }).join();
  second.reset();
  std::thread([] { EXPECT_EQ(size_of_mine(), 1); }).join();
}

TEST(MemoryDataset, IsFoundByItsThreadBesideOnesOfOthers) {
  const MemoryDataset here("mine", pictures(1));
  std::optional<MemoryDataset> there;
  std::thread([&] { there.emplace("mine", pictures(2)); }).join();
  EXPECT_EQ(size_of_mine(), 1);
}

TEST(MemoryDataset, WithoutLabelsIsForCalibrationAlone) {
  const MemoryDataset kept("pictures", arrays_of(false));
  EXPECT_THROW(load_dataset("pictures", Split::train), Error);
  const Dataset data = load_dataset("pictures", Split::train, {.takes_unlabelled = true});
  EXPECT_EQ(data.size(), 3);
  EXPECT_FALSE(data.has_answers());
}

TEST(MemoryDataset, DoesNotHideAKnownOne) {
  EXPECT_THROW(MemoryDataset("mnist", arrays_of(true)), Error);
}

}  // namespace
}  // namespace nibble
