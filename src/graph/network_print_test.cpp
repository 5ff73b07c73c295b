// SPDX-License-Identifier: Apache-2.0
// Tests that what is written of a network, in TOML and in JSON, is read back as the same network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/graph_test_support.h"
#include "graph/network_json.h"
#include "graph/test_network_generator.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline graph {
namespace {

RC_GTEST_PROP(NetworkPrint, AnyNetworkComesBackFromToml, ()) {
  const Network network = *any_network();
  RC_TAG(network.nodes.size());
  const std::string text = to_toml(network);
  RC_ASSERT(parse_network(text, "test") == network);
}

RC_GTEST_PROP(NetworkPrint, AnyNetworkComesBackFromJson, ()) {
  const Network network = *any_network();
  RC_ASSERT(network_from_json(to_json(network), "test") == network);
}

TEST(NetworkPrint, OneLineALayerAndOnlyWhatIsUnusual) {
  Network network =
      chain({28, 28, 1}, {Conv2d{.channels = 16}, MaxPool{}, Relu{}, Flatten{},
                          Linear{.features = 10, .has_bias = true}, SoftmaxCrossEntropy{}});
  network.nodes[1].weight = {.format = parse_format("e4m3"),
                             .rounding = parse_rounding("stochastic")};
  std::get<Input>(network.nodes[0].op).mean = {0.1307F};
  EXPECT_EQ(to_toml(network), R"(name = "chain"
input = [28, 28, 1]
mean = [0.1307]
layers = [
  { op = "conv2d", name = "n1", channels = 16, kernel = 3, weight_format = "e4m3", weight_rounding = "stochastic" },
  { op = "max_pool", name = "n2", kernel = 2 },
  { op = "relu", name = "n3" },
  { op = "flatten", name = "n4" },
  { op = "linear", name = "n5", features = 10, bias = true },
  { op = "softmax_cross_entropy", name = "n6" },
]
)");
}

TEST(NetworkPrint, OtherInputsAreNamed) {
  Network network = chain({4}, {Relu{}, Relu6{}});
  network.nodes[2].inputs = {0};
  network.nodes.push_back({.name = "sum", .op = Add{}, .inputs = {1, 2}});
  const std::string text = to_toml(network);
  EXPECT_THAT(text, testing::HasSubstr(R"({ op = "relu6", name = "n2", from = "input" })"));
  EXPECT_THAT(text, testing::HasSubstr(R"({ op = "add", name = "sum", from = ["n1", "n2"] })"));
}

TEST(NetworkPrint, ImpossibleNetworksAreNotWritten) {
  EXPECT_THROW((void)to_toml(Network{}), Error);
  Network network = chain({4}, {Relu{}});
  network.name = "\xFF";
  EXPECT_THAT(error_of([&] { (void)to_toml(network); }), testing::HasSubstr("UTF-8"));
  EXPECT_THAT(error_of([&] { (void)to_json(network); }), testing::HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace nibble::inline graph
