// SPDX-License-Identifier: Apache-2.0
// For tests: every network of the tree in integers, by the engine and by the definitions at once.
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

inline std::vector<WholeNetwork> whole_networks(bool is_large) {
  std::vector<WholeNetwork> list;
  for (const NamedNetwork& each : named_networks()) {
    WholeNetwork one{std::string(each.name), parse_network(each.toml, each.name)};
    const std::vector<std::int64_t> macs = multiply_accumulates(one.network);
    const bool is_this_large =
        std::accumulate(macs.begin(), macs.end(), std::int64_t{0}) > kMostMacs;
    if (is_this_large == is_large) list.push_back(std::move(one));
  }
  EXPECT_FALSE(list.empty());
  return list;
}

// Weights by chance, quantized with so many bits; one example by chance, every value compared.
inline void expect_defined_answers(const WholeNetwork& whole, LayerBits bits) {
  SCOPED_TRACE(whole.name);
  std::vector<Tensor> batches;
  batches.push_back(random_batch(whole.network, 2));
  const QuantizedModel quantized =
      quantize_model(random_model(whole.network), batches, {.bits = bits, .equalizes = false});
  Model integers = integer_twins_of(copy_of(quantized.fake)).integers;
  const Engine engine(std::move(integers), {.device = "check(cpu,reference)"});
  const ValueInfo& in = engine.input();
  Integers input(static_cast<std::size_t>(in.shape.elements()));
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = in.low + draw32({3, 0, 0}, i) % (in.high - in.low + 1);
  EXPECT_NO_THROW(answers_of(engine, input, 1));
}

}  // namespace nibble
