// SPDX-License-Identifier: Apache-2.0
// For tests: every network of the tree in integers, and some with layers that none of those has.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "engine/engine_test_support.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/network_text.h"
#include "nibble/quantization/quantize_model.h"
#include "quantization/quantize_test_support.h"

namespace nibble {

// The definitions are slow: larger networks take part in the long tests.
inline constexpr std::int64_t kMostMacs = 50'000'000;

struct WholeNetwork {
  std::string name;
  Network network;
};

// Inverted residual blocks as MobileNetV2 has them: wide, depthwise, narrow, and added.
inline constexpr const char* kDepthwiseNetwork = R"(input = [33, 31, 3]
layers = [
  { op = "conv2d", channels = 24, stride = 2, padding = 1, bias = true }, { op = "relu6", name = "stem" },
  { op = "conv2d", channels = 72, kernel = 1, bias = true }, { op = "relu6" },
  { op = "depthwise", padding = 1, bias = true }, { op = "relu6" },
  { op = "conv2d", channels = 24, kernel = 1, bias = true },
  { op = "add", name = "block1", from = ["stem", "conv4"] },
  { op = "conv2d", channels = 144, kernel = 1, bias = true }, { op = "relu6" },
  { op = "depthwise", kernel = 5, stride = 2, padding = 2, bias = true }, { op = "relu6" },
  { op = "conv2d", channels = 40, kernel = 1, bias = true },
  { op = "conv2d", channels = 160, kernel = 1, bias = true }, { op = "relu6" },
  { op = "global_average_pool" },
  { op = "linear", features = 11, bias = true } ])";

// Branches side by side, and groups of channels behind them.
inline constexpr const char* kConcatNetwork = R"(input = [20, 18, 3]
layers = [
  { op = "conv2d", name = "stem", channels = 32, padding = 1, bias = true }, { op = "relu", name = "in" },
  { op = "conv2d", name = "small", channels = 16, kernel = 1, bias = true, from = "in" }, { op = "relu", name = "a" },
  { op = "conv2d", name = "large", channels = 24, kernel = 5, padding = 2, bias = true, from = "in" }, { op = "relu", name = "b" },
  { op = "max_pool", name = "c", kernel = 3, stride = 1, padding = 1, from = "in" },
  { op = "concat", name = "mixed", from = ["a", "b", "c"] },
  { op = "conv2d", name = "grouped", channels = 48, groups = 4, padding = 1, bias = true }, { op = "relu", name = "d" },
  { op = "average_pool", name = "half" },
  { op = "flatten" },
  { op = "linear", features = 10, bias = true } ])";

inline std::vector<WholeNetwork> whole_networks(bool is_large) {
  std::vector<WholeNetwork> list;
  const auto add = [&](std::string_view toml, std::string_view name) {
    WholeNetwork one{std::string(name), parse_network(toml, name)};
    const std::vector<std::int64_t> macs = multiply_accumulates(one.network);
    const bool is_this_large =
        std::accumulate(macs.begin(), macs.end(), std::int64_t{0}) > kMostMacs;
    if (is_this_large == is_large) list.push_back(std::move(one));
  };
  for (const NamedNetwork& each : named_networks()) add(each.toml, each.name);
  add(kDepthwiseNetwork, "depthwise blocks");
  add(kConcatNetwork, "branches");
  EXPECT_FALSE(list.empty());
  return list;
}

// Weights by chance, quantized with so many bits.
inline Model integers_of(const WholeNetwork& whole, LayerBits bits) {
  std::vector<Tensor> batches;
  batches.push_back(random_batch(whole.network, 2));
  const QuantizedModel quantized =
      quantize_model(random_model(whole.network), batches, {.bits = bits, .equalizes = false});
  return integer_twins_of(copy_of(quantized.fake)).integers;
}

inline Integers examples_by_chance(const ValueInfo& in, std::int64_t examples) {
  Integers input(static_cast<std::size_t>(examples * in.shape.elements()));
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = in.low + draw32({3, 0, 0}, i) % (in.high - in.low + 1);
  return input;
}

// One example by chance, every value compared.
inline void expect_defined_answers(const WholeNetwork& whole, LayerBits bits) {
  SCOPED_TRACE(whole.name);
  const Engine engine(integers_of(whole, bits), {.device = "check(cpu,reference)"});
  EXPECT_NO_THROW(answers_of(engine, examples_by_chance(engine.input(), 1), 1));
}

}  // namespace nibble
