// SPDX-License-Identifier: Apache-2.0
// For tests: a network made by hand against its definition, on every path.
#pragma once

#include <gtest/gtest.h>

#include "core/isa.h"
#include "engine/engine_test_support.h"
#include "kernels/engine/engine_kernels.h"

namespace nibble::inline engine {

inline constexpr std::int64_t kBatch = 5;

class EngineFixture : public ::testing::Test {
 protected:
  void TearDown() override { reset_isa(); }

  // On every device and path, for all of 1 to 3 threads and batches, fused or not.
  void check(const NetworkMaker& maker, std::int64_t low, std::int64_t high) {
    const NaiveExamples examples(maker.model(), dice_, low, high, kBatch);
    for (const std::string& device : tested_devices()) {
      if (device != "cpu") {
        check_options(maker, examples, {.device = device, .max_batch = 3});
        continue;
      }
      for (const Isa isa : supported_isas()) {
        set_isa(isa);
        SCOPED_TRACE(name_of(isa));
        for (const int threads : {1, 2, 3})
          check_options(maker, examples, {.max_batch = 3, .threads = threads});
        if (engine_kernels().multiply_matrix != nullptr)  // bytes are usual there
          check_options(maker, examples, {.max_batch = 3, .threads = 2, .packs_halves = true});
      }
    }
  }

  static void check_options(const NetworkMaker& maker, const NaiveExamples& examples,
                            EngineOptions options) {
    for (const bool keeps_layers : {false, true}) {
      options.keeps_layers = keeps_layers;
      const Engine engine(maker.model(), options);
      for (const std::int64_t batch : {1, 2, 5}) {
        EXPECT_EQ(answers_of(engine, examples.first(examples.input, batch), batch),
                  examples.first(examples.values.back(), batch))
            << options.device << ", " << options.threads << " threads, batch " << batch
            << (keeps_layers ? ", layer by layer" : "");
      }
    }
  }

  // A weight and a bias of the node just added.
  void give_numbers(NetworkMaker& maker, const Shape& weight, std::int64_t most,
                    bool has_bias = false) {
    maker.with(tensor_of<std::int8_t>(weight, dice_.many(weight.elements(), -most, most)));
    if (has_bias)
      maker.with(tensor_of<std::int32_t>({weight[0]}, dice_.many(weight[0], -5000, 5000)));
  }

  // (6, 7, channels) of int8.
  static NetworkMaker picture(std::int64_t channels) {
    return {Shape{6, 7, channels}, integers_format("int8")};
  }
  void check_picture(const NetworkMaker& maker) { check(maker, -128, 127); }

  std::size_t rescale_bytes(NetworkMaker& maker, std::int64_t channels, std::int64_t low = -127,
                            std::int64_t high = 127) {
    return maker.rescale(maker.last(), dice_.many(channels, 100, 4000), 20, low, high);
  }

  Dice dice_{20261115};
};

}  // namespace nibble::inline engine
