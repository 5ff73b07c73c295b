// SPDX-License-Identifier: Apache-2.0
#include "epoch_loop/training_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline epoch_loop {
namespace {

using ::testing::ElementsAre;

RunSettings digits() {
  RunSettings settings;
  settings.network = load_network("mlp-64-32-10");
  settings.data = "digits";
  return settings;
}

TEST(TrainingData, HoldsOutAShareOrANumberOfImages) {
  RunSettings settings = digits();
  const std::size_t all = load_training_data(settings).indices.size();
  EXPECT_EQ(all, 1437U);
  settings.validation = 0.2;
  const TrainingData share = load_training_data(settings);
  EXPECT_EQ(share.validation->size(), 287);
  EXPECT_EQ(share.indices.size(), all - 287);
  settings.validation = 100;
  EXPECT_EQ(load_training_data(settings).validation->size(), 100);
  settings.validation = 1437;
  EXPECT_THROW(load_training_data(settings), Error);
}

TEST(TrainingData, WhatIsHeldOutDoesNotTrain) {
  RunSettings settings = digits();
  settings.validation = 100;
  const TrainingData data = load_training_data(settings);
  const auto train = data.train.images.as<std::uint8_t>();
  const auto held = data.validation->images.as<std::uint8_t>();
  constexpr std::size_t kPixels = 64;
  std::vector<bool> trains(1437, false);
  for (const std::int32_t index : data.indices) trains[static_cast<std::size_t>(index)] = true;
  for (std::size_t i = 0; i < 100; ++i) {
    const auto picture = held.subspan(i * kPixels, kPixels);
    bool is_found = false;
    for (std::size_t k = 0; k < trains.size() && !is_found; ++k) {
      is_found =
          !trains[k] && std::ranges::equal(picture, train.subspan(k * kPixels, kPixels)) &&
          data.validation->labels.as<std::int32_t>()[i] == data.train.labels.as<std::int32_t>()[k];
    }
    EXPECT_TRUE(is_found) << i;
  }
}

TEST(TrainingData, CompletesTheInputWithWhatItMeasuresOrIsTold) {
  RunSettings settings = digits();
  const TrainingData data = load_training_data(settings);
  const ChannelMoments measured = channel_moments(data.train, data.indices);
  const Network network = complete(settings, data).network;
  EXPECT_EQ(input_of(network).mean.front(), measured.mean.front());
  EXPECT_EQ(input_of(network).deviation.back(), measured.deviation.front());
  EXPECT_EQ(network.class_names, data.train.class_names);
  settings.mean = {0.5F};
  EXPECT_EQ(input_of(complete(settings, data).network).mean.front(), 0.5F);
  settings.mean = {0.5F, 0.5F};
  EXPECT_THROW(complete(settings, data), Error);
}

TEST(TrainingData, AVectorGetsTheMomentsOfItsChannelForEveryFeature) {
  RunSettings settings = digits();
  settings.network = parse_network(
      "input = [64]\nlayers = [{op = \"linear\", features = 10}, "
      "{op = \"softmax_cross_entropy\"}]\n",
      "net");
  settings.mean = {0.25F};
  const Network network = complete(settings, load_training_data(settings)).network;
  EXPECT_EQ(input_of(network).mean, std::vector<float>(64, 0.25F));
  EXPECT_EQ(input_of(network).deviation.size(), 64U);
}

TEST(ChannelMoments, AreThoseOfTheChosenImages) {
  Dataset data;
  data.images = Tensor(DType::u8, {3, 1, 2, 2});
  std::ranges::copy(
      std::initializer_list<std::uint8_t>{0, 255, 255, 255, 9, 9, 9, 9, 0, 255, 255, 255},
      data.images.as<std::uint8_t>().begin());
  const std::vector<std::int32_t> chosen = {0, 2};
  const ChannelMoments moments = channel_moments(data, chosen);
  EXPECT_THAT(moments.mean, ElementsAre(0.5F, 1.0F));
  EXPECT_THAT(moments.deviation, ElementsAre(0.5F, 1.0F));  // nothing varies: 1
}

}  // namespace
}  // namespace nibble::inline epoch_loop
