// SPDX-License-Identifier: Apache-2.0
// Tests of the networks that come with Nibble: sizes as published, or counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "core/test_support.h"
#include "graph/graph_test_support.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline graph {
namespace {

struct Expected {
  std::string_view name;
  std::int64_t trained;
  std::int64_t products;
};
constexpr Expected kExpected[] = {
    {"mlp-64-32-10", 64 * 32 + 32 + 320 + 10, 64 * 32 + 320},
    {"convnet-8x8", 160 + 4640 + 1290, 64 * 144 + 16 * 4608 + 1280},
    {"mlp-784-128-64-10", 109184, 109184},       // native-C seed
    {"mlp-784-100-50-10", 84060, 78400 + 5500},  // 150 + 10 biases
    {"mlp-784-200-100-50-10", 182300 + 360, 182300},
    {"convnet-16-16", 6448, 676 * 144 + 121 * 2304 + 4000},  // native-C seed
    {"lenet", 500 + 25000 + 400000 + 5000, 576 * 500 + 64 * 25000 + 405000},
    {"resnet8", 77706 + 480, 12501632},  // MLPerf Tiny: 12.5 M
    {"resnet20", 269722, 40551040},      // the trained model of shared/data
    {"resnet20-nobn", 269722 - 688, 40551040},
    {"resnet18-32x32", 11173962, 555422720},
    {"resnet26-32x32", 884138, 12555264},
    {"vgg-small-7", 4656512, 607600640},  // NITI: 607.6 M
    {"vgg-small-7-bn", 4656512 + 3584 + 10, 607600640},
    {"vgg-small-8", 4803968, 758595584},  // NITI: 758.6 M
    {"vgg-small-9", 5393792, 909590528},  // NITI: 909.6 M
    {"vgg8b", 6786432 + 2097152 + 10240, 947257344 + 2097152 + 10240},
    {"wage-vgg7", 4656512 - 81920 + 8398848, 607600640 - 81920 + 8398848},  // vgg-small-7's convs
    {"wage-vgg7-narrow", 813408, 39160320},
    {"resnet50", 25557032, 4089184256},  // v1.5: 4.09 G
};

std::int64_t trained_of(const Network& network) {
  std::int64_t count = 0;
  for (const Parameter& p : parameters_of(network)) count += p.is_trained ? p.shape.elements() : 0;
  return count;
}

TEST(NamedNetworks, HaveTheirParametersAndProducts) {
  std::vector<std::string_view> names;
  for (const NamedNetwork& each : named_networks()) names.push_back(each.name);
  ASSERT_EQ(names.size(), std::size(kExpected));
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    EXPECT_EQ(names[i], kExpected[i].name);
    const Network network = load_network(names[i]);
    const std::vector<std::int64_t> counts = multiply_accumulates(network);
    EXPECT_EQ(trained_of(network), kExpected[i].trained);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}),
              kExpected[i].products);
  }
}

TEST(NamedNetworks, SayTheirNameLicenceAndOrigin) {
  for (const NamedNetwork& each : named_networks()) {
    SCOPED_TRACE(each.name);
    EXPECT_TRUE(each.toml.starts_with("# SPDX-License-Identifier: Apache-2.0\n# "));
    const Network network = parse_network(each.toml, "elsewhere");
    EXPECT_EQ(network.name, each.name);
    EXPECT_TRUE(input_of(network).mean.empty());
    const bool is_wage = each.name.starts_with("wage-");
    EXPECT_EQ(is<SquaredError>(network.nodes.back().op), is_wage);
    EXPECT_EQ(is<SoftmaxCrossEntropy>(network.nodes.back().op), !is_wage);
    EXPECT_EQ(parse_network(to_toml(network), "again"), network);
  }
}

TEST(NamedNetworks, AreFarWithinTheLimits) {
  Limits hundredth;
  for (std::int64_t* each : {&hundredth.memory, &hundredth.values, &hundredth.macs,
                             &hundredth.geometry, &hundredth.nodes}) {
    *each /= 100;
  }
  const LimitsScope scope(hundredth);
  for (const NamedNetwork& each : named_networks()) EXPECT_NO_THROW(load_network(each.name));
}

// The largest value is one of 2,048 by 2,048 by 64 numbers.
TEST(NamedNetworks, OfPicturesOfSixteenMegapixelsAreWithinTheLimits) {
  Network network = load_network("resnet50");
  std::get<Input>(network.nodes[0].op).shape = {4096, 4096, 3};
  EXPECT_NO_THROW((void)infer_shapes(network));
  std::get<Input>(network.nodes[0].op).shape = {4100, 4096, 3};
  EXPECT_THROW((void)infer_shapes(network), Error);
}

TEST(NamedNetworks, TheResidualOnesAreThoseOfTheirPapers) {
  const Network tiny = load_network("resnet8");
  std::int64_t all = 0;
  for (const Parameter& p : parameters_of(tiny)) all += p.shape.elements();
  EXPECT_EQ(all, 78666);  // Keras counts the running moments
  EXPECT_EQ(infer_shapes(tiny)[find_node(tiny, "stack3")], (Shape{8, 8, 64}));

  const Network twenty = load_network("resnet20");
  EXPECT_EQ(infer_shapes(twenty)[find_node(twenty, "layer2.0.shortcut")], (Shape{16, 16, 32}));
  EXPECT_EQ(infer_shapes(twenty)[find_node(twenty, "layer3.2")], (Shape{8, 8, 64}));

  const Network fifty = load_network("resnet50");
  EXPECT_EQ(infer_shapes(fifty)[find_node(fifty, "stem")], (Shape{56, 56, 64}));
  EXPECT_EQ(infer_shapes(fifty)[find_node(fifty, "layer2.0.conv1")], (Shape{56, 56, 128}));  // v1.5
  EXPECT_EQ(infer_shapes(fifty)[find_node(fifty, "layer4.2")], (Shape{7, 7, 2048}));
}

TEST(NamedNetworks, TheErrorSaysWhichWasMeant) {
  EXPECT_THAT(error_of([] { load_network("convnet-8x"); }),
              testing::EndsWith("or the path of a .toml file, perhaps convnet-8x8"));
}

}  // namespace
}  // namespace nibble::inline graph
