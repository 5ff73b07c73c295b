// SPDX-License-Identifier: Apache-2.0
#include "quantization/layer_bits_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantization/fake_quantized.h"
#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

using testing::HasSubstr;

Network small_network() {
  Network network = chain({4}, {Linear{.features = 3}, Relu{}, Linear{.features = 2}});
  network.nodes[3].name = "block1.fc";
  return network;
}

std::string error_for(const std::string& text) {
  return error_of([&] { (void)parse_layer_bits(text, "m.toml", small_network()); });
}

TEST(LayerBits, AreReadByName) {
  const auto layers = parse_layer_bits(
      "[layers.n1]\nweights = \"int4\"\nactivations = \"uint6\"\n"
      "[layers.\"block1.fc\"]\nactivations = \"int8\"\n",
      "m.toml", small_network());
  const std::map<std::string, LayerBits> expected = {{"n1", {4, 6}}, {"block1.fc", {0, 8}}};
  EXPECT_EQ(layers, expected);
}

TEST(LayerBits, AreWrittenAsTheyAreRead) {
  const std::map<std::string, LayerBits> layers = {{"n1", {4, 0}}, {"block1.fc", {0, 5}}};
  EXPECT_EQ(parse_layer_bits(layer_bits_text(layers), "m.toml", small_network()), layers);
  EXPECT_TRUE(parse_layer_bits(layer_bits_text({}), "m.toml", small_network()).empty());
}

TEST(LayerBits, ErrorsNameLineAndKey) {
  EXPECT_THAT(error_for("[layers.n1]\nweights = \"int9\"\n"),
              HasSubstr("m.toml:2: layers.n1.weights: got 'int9', expected int2 to int8"));
  EXPECT_THAT(error_for("[layers.n1]\nweights = \"uint4\"\n"), HasSubstr("got 'uint4'"));
  EXPECT_THAT(error_for("[layers.n1]\nactivations = 8\n"), HasSubstr("m.toml:2"));
  EXPECT_THAT(error_for("\n[layers.n2]\nweights = \"int4\"\n"),
              HasSubstr("m.toml:2: layers.n2: got no such layer"));
  EXPECT_THAT(error_for("[layers.n1]\nbits = 4\n"), HasSubstr("bits"));
  EXPECT_THAT(error_for("[layer.n1]\n"), HasSubstr("layers: got nothing"));
  EXPECT_THAT(error_for("layers = 3\n"), HasSubstr("layers: got an integer, expected a table"));
}

TEST(LayerBits, ZerosStandForTheSettings) {
  const Model model = random_model(small_network());
  std::vector<Tensor> batches;
  batches.push_back(random_batch(model.network, 8));
  QuantizeSettings settings{.bits = {.weights = 5, .activations = 6},
                            .layers = {{"n1", {0, 3}}, {"block1.fc", {2, 0}}}};
  const Model fake = fake_quantized(model, observe(model, batches), settings);
  const auto weight_grid = [&](std::string_view name) {
    const Node& node = fake.network.nodes[find_node(fake.network, name)];
    return grid_of(node, node.weight.format);
  };
  EXPECT_EQ(weight_grid("n1"), (IntegerGrid{-16, 15}));
  EXPECT_EQ(weight_grid("block1.fc"), (IntegerGrid{-2, 1}));
  const Node& relu = fake.network.nodes[find_node(fake.network, "n2.q")];
  EXPECT_EQ(std::get<FakeQuantize>(relu.op), (FakeQuantize{.low = 0, .high = 7}));
}

}  // namespace
}  // namespace nibble::inline quantization
