// SPDX-License-Identifier: Apache-2.0
// For tests: a network made by hand against its definition, on every path.
#pragma once

#include <gtest/gtest.h>

#include "core/isa.h"
#include "engine/engine_test_support.h"

namespace nibble::inline engine {

inline constexpr std::int64_t kBatch = 5;

class EngineFixture : public ::testing::Test {
 protected:
  void TearDown() override { reset_isa(); }

  // On every path, for all of 1 to 3 threads and batches, fused or not.
  void check(const NetworkMaker& maker, std::int64_t low, std::int64_t high) {
    const Model model = maker.model();
    const NaiveExamples examples(model, dice_, low, high, kBatch);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      for (const bool keeps_layers : {false, true}) {
        for (const int threads : {1, 2, 3}) {
          const Engine engine(maker.model(),
                              {.max_batch = 3, .threads = threads, .keeps_layers = keeps_layers});
          for (const std::int64_t batch : {1, 2, 5}) {
            EXPECT_EQ(answers_of(engine, examples.first(examples.input, batch), batch),
                      examples.first(examples.values.back(), batch))
                << name_of(isa) << ", " << threads << " threads, batch " << batch
                << (keeps_layers ? ", layer by layer" : "");
          }
        }
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
