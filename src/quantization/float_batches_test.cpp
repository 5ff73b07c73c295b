// SPDX-License-Identifier: Apache-2.0
// Tests of batches that do not fit into memory.
#include "nibble/quantization/float_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/test_support.h"
#include "nibble/quantization/quantize_model.h"
#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

Tensor numbered(std::int64_t examples, float first) {
  Tensor batch(DType::f32, {examples, 3});
  std::ranges::generate(batch.as<float>(), [&] { return first++; });
  return batch;
}

std::vector<float> all_of(const FloatBatches& batches) {
  std::vector<float> all;
  batches.for_each([&](ConstTensorView batch) {
    all.insert(all.end(), batch.as<float>().begin(), batch.as<float>().end());
  });
  return all;
}

TEST(FloatBatches, AreTheSameInMemoryAndInAFile) {
  FloatBatches held;
  FloatBatches some(100);
  FloatBatches none(0);
  for (FloatBatches* each : {&held, &some, &none}) {
    each->add(numbered(8, 0));
    each->add(numbered(5, 100));
    each->add(numbered(1, 200));
  }
  EXPECT_EQ(all_of(held).size(), 42U);
  EXPECT_EQ(all_of(held), all_of(some));
  EXPECT_EQ(all_of(held), all_of(none));
  for (const FloatBatches* each : {&held, &some, &none}) {
    EXPECT_EQ(each->size(), 3U);
    EXPECT_EQ(each->examples(), 14);
    EXPECT_EQ(each->at(1).shape(), Shape({5, 3}));
    EXPECT_EQ(each->at(1).as<float>()[14], 114);
  }
}

TEST(FloatBatches, MoveWithTheirFile) {
  FloatBatches from(0);
  from.add(numbered(2, 7));
  FloatBatches to;
  to = std::move(from);
  EXPECT_THAT(all_of(to), testing::ElementsAre(7, 8, 9, 10, 11, 12));
}

// VmRSS, in kB: what is in memory now.
std::int64_t resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return -1;
}

// Two hundred batches of a megabyte, 64 of which may be held.
TEST(FloatBatches, TakeNoMoreMemoryThanTheyMay) {
  const std::int64_t before = resident();
  if (before < 0 || !kCanLimitMemory) GTEST_SKIP() << "memory is not told";
  FloatBatches batches;
  for (int i = 0; i < 200; ++i) {
    Tensor batch(DType::f32, {64, 4096});
    std::ranges::fill(batch.as<float>(), static_cast<float>(i));
    batches.add(std::move(batch));
  }
  EXPECT_LT(resident() - before, 80 << 10);
  float next = 0;
  batches.for_each([&](ConstTensorView batch) { EXPECT_EQ(batch.as<float>().back(), next++); });
}

TEST(FloatBatches, InAFileGiveTheSameQuantizedModel) {
  const Network network = chain({6, 6, 3}, {Conv2d{.channels = 4, .has_bias = true}, Relu{},
                                            Flatten{}, Linear{.features = 3, .has_bias = true}});
  const Model model = random_model(network);
  FloatBatches held;
  FloatBatches in_file(0);
  for (const std::int64_t examples : {8, 8, 3}) {
    held.add(random_batch(network, examples));
    in_file.add(random_batch(network, examples));
  }
  EXPECT_EQ(weights_hash(quantize_model(model, held, {}).fake),
            weights_hash(quantize_model(model, in_file, {}).fake));
}

}  // namespace
}  // namespace nibble::inline quantization
