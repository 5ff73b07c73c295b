// SPDX-License-Identifier: Apache-2.0
#include "quantization/answered_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three numbers an example, of which the largest is the class.
Model largest_number() {
  Model model = random_model(chain({3}, {Linear{.features = 3}}));
  const auto weights = model.parameters[0].as<float>();
  for (std::size_t i = 0; i < 9; ++i) weights[i] = i % 4 == 0 ? 1.0F : 0.0F;
  return model;
}

Dataset four_examples() {
  Dataset data;
  data.name = "four";
  data.class_names = {"a", "b", "c"};
  data.images = Tensor(DType::f32, {4, 1, 1, 3});
  std::ranges::copy(std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 2, 0},
                    data.images.as<float>().begin());
  data.labels = Tensor(DType::i32, {4});
  std::ranges::copy(std::vector<std::int32_t>{0, 2, 2, 0}, data.labels.as<std::int32_t>().begin());
  return data;
}

TEST(AnsweredClasses, AreTheLargestAnswersOfEqualOnesTheFirst) {
  const std::vector<std::int32_t> indices = {3, 2, 1, 0};
  EXPECT_THAT(answered_classes(largest_number(), four_examples(), indices),
              ElementsAre(0, 2, 1, 0));
}

TEST(AnsweredClasses, LabelsAreThoseOfTheIndices) {
  const Model model = largest_number();
  EXPECT_EQ(top1_of(model, four_examples(), std::vector<std::int32_t>{0, 1, 2, 3}), 0.75);
  EXPECT_EQ(top1_of(model, four_examples(), std::vector<std::int32_t>{1}), 0);
  EXPECT_THAT(error_of([&] { (void)top1_of(model, four_examples(), {}); }),
              HasSubstr("four: got no image to count with"));
}

TEST(HeldImages, AreNoneOfThoseThatCalibrate) {
  Dataset data;
  data.images = Tensor(DType::u8, {103, 1, 1, 1});
  const std::vector<std::int32_t> held = held_images(data, 10, 20);
  EXPECT_EQ(held.size(), 20U);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(std::ranges::count(held, static_cast<std::int32_t>(i * 103 / 10)), 0);
  }
  EXPECT_TRUE(std::ranges::is_sorted(held));
  EXPECT_LT(held.front(), 6);
  EXPECT_GT(held.back(), 95);
  EXPECT_EQ(held_images(data, 100, 20).size(), 3U);
  EXPECT_TRUE(held_images(data, 1000, 20).empty());
}

}  // namespace
}  // namespace nibble::inline quantization
