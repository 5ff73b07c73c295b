// SPDX-License-Identifier: Apache-2.0
// Tests of evaluations by the engine.
#include "inference/engine_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "data/harness_tensor.h"
#include "inference/harness_test_support.h"
#include "nibble/core/npy.h"

namespace nibble::inline inference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A picture whose class is plain to see: its channel is bright, the others are dark.
void paint(std::int64_t label, std::int8_t* pixels) {
  for (std::int64_t i = 0; i < 12; ++i) pixels[i] = i % 3 == label ? 20 : -20;
}

TEST(EngineEvaluation, OfAFolderCountsAndComparesByIndex) {
  const TemporaryFolder folder;
  std::string list;
  for (int i = 0; i < 150; ++i) {
    list += std::to_string(i) + ".JPEG\t" + std::to_string(i % 7 == 0 ? (i + 1) % 3 : i % 3) + "\n";
    if (i == 3) continue;  // not there
    Tensor picture(DType::i8, {2, 2, 3});
    paint(i % 3, picture.as<std::int8_t>().data());
    write_harness_tensor(folder.path() / (std::to_string(i) + ".JPEG.npy"), picture.view());
  }
  folder.put("val_map.txt", list);
  const AnswerEngine engine(channel_sums(true), {.max_batch = 16});
  const ExampleReader reader(engine.network(), engine.engine().input());
  const Examples examples = examples_of(read_file_list(folder.path()), "folder", reader);
  const EngineEvaluation result = evaluate_engine(engine, examples);
  EXPECT_EQ(result.evaluation.images, 149);
  EXPECT_EQ(result.evaluation.classes->correct(), 149 - 22);
  EXPECT_EQ(result.evaluation.classes->correct5(), 149);
  EXPECT_EQ(result.answers[2], 2);
  EXPECT_EQ(result.answers[3], 1);  // of index 4
  const LoggedAnswers log = {{0, 0}, {3, 0}, {4, 1}, {5, 1}, {149, 2}, {150, 0}};
  const Agreement agreement = agreement_of(examples, result.answers, log);
  EXPECT_EQ(agreement.compared, 4);
  EXPECT_EQ(agreement.agreed, 3);
}

TEST(EngineEvaluation, OfADataSetNormalizesItsBytes) {
  Dataset data{.name = "made up",
               .images = Tensor(DType::u8, {3, 2, 2, 3}),
               .labels = tensor_of<std::int32_t>({3}, {0, 1, 2}),
               .class_names = {"red", "green", "blue"},
               .targets = {}};
  const auto pixels = data.images.as<std::uint8_t>();
  for (std::size_t i = 0; i < 36; ++i) pixels[i] = i % 3 == i / 12 ? 255 : 0;
  const AnswerEngine engine(channel_sums(false));
  const ExampleReader reader(engine.network(), engine.engine().input());
  const Examples examples = examples_of(data, engine.network(), reader);
  const EngineEvaluation result = evaluate_engine(engine, examples);
  // (4, -2, -4), (0, 2, -4), (0, -2, 0) a pixel, four pixels, biases 0, 1, 2
  EXPECT_THAT(result.answers, ElementsAre(0, 1, 2));
  EXPECT_EQ(result.evaluation.classes->top1(), 1);
  data.labels.as<std::int32_t>()[1] = 3;
  const Examples wrong = examples_of(data, engine.network(), reader);
  EXPECT_THAT(error_of([&] { evaluate_engine(engine, wrong); }),
              HasSubstr("label of example 1: got 3, expected 0 to 2"));
}

TEST(EngineEvaluation, OfARegressionHasALossAlone) {
  Dataset data{.name = "made up",
               .images = Tensor(DType::u8, {2, 2, 2, 3}),
               .labels = {},
               .class_names = {},
               .targets = tensor_of<float>({2, 3}, {0, -7, -14, 2, 0, 0})};
  std::ranges::fill(data.images.as<std::uint8_t>(), std::uint8_t{0});
  const AnswerEngine engine(channel_sums(false));
  const ExampleReader reader(engine.network(), engine.engine().input());
  const Examples examples = examples_of(data, engine.network(), reader);
  const EngineEvaluation result = evaluate_engine(engine, examples);
  // (0, -2, -4) a pixel, four pixels, biases 0, 1, 2: both examples are (0, -7, -14).
  EXPECT_EQ(result.evaluation.loss, (4 + 49 + 196) / 2.0 / 2);
  EXPECT_FALSE(result.evaluation.classes);
}

TEST(EngineEvaluation, AFileIsOneExample) {
  const TemporaryFolder folder;
  folder.put("val_map.txt", "a 0\n");
  write_npy(folder.path() / "a.npy", Tensor(DType::i8, {2, 2, 2, 3}).view());
  const AnswerEngine engine(channel_sums(true));
  const ExampleReader reader(engine.network(), engine.engine().input());
  const Examples examples = examples_of(read_file_list(folder.path()), "folder", reader);
  EXPECT_THAT(error_of([&] { evaluate_engine(engine, examples); }),
              HasSubstr("a.npy: examples: got 2, expected one"));
}

}  // namespace
}  // namespace nibble::inline inference
