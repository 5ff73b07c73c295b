// SPDX-License-Identifier: Apache-2.0
// Gradients of every operation against differences of a double-precision evaluation by definition.
#include "float_training/tape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "float_training/losses.h"
#include "float_training/test_networks.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

constexpr std::int64_t kTapeImages = 5;

struct Networks {
  const char* name;
  const char* layers;
  const char* input = "[6, 5, 4]";
};

// Every operation, with uneven strides, borders, groups and dilations.
constexpr Networks kNetworks[] = {
    {"conv", R"({op="conv2d", channels=3, kernel=3, padding=1, bias=true})"},
    {"conv_uneven",
     R"({op="conv2d", channels=6, kernel=[3,2], stride=[2,1], padding=[1,0], groups=2, bias=true})"},
    {"conv_dilated", R"({op="conv2d", channels=3, kernel=2, dilation=2})"},
    {"depthwise", R"({op="depthwise", kernel=3, padding=1})"},
    {"linear", R"({op="flatten"}, {op="linear", features=7, bias=true})"},
    {"bias", R"({op="bias"}, {op="conv2d", channels=3, kernel=1}, {op="bias"})"},
    {"relu",
     R"({op="conv2d", channels=5, kernel=1}, {op="relu"}, {op="conv2d", channels=2, kernel=1})"},
    {"relu6",
     R"({op="conv2d", channels=5, kernel=1}, {op="relu6"}, {op="conv2d", channels=2, kernel=1})"},
    {"max_pool",
     R"({op="conv2d", channels=3, kernel=1}, {op="max_pool", kernel=3, stride=2, padding=1})"},
    {"average_pool",
     R"({op="conv2d", channels=3, kernel=1}, {op="average_pool", kernel=2, padding=1})"},
    {"average_inside",
     R"({op="conv2d", channels=3, kernel=1}, {op="average_pool", kernel=2, padding=1, counts_padding=false})"},
    {"global", R"({op="conv2d", channels=3, kernel=1}, {op="global_average_pool"})"},
    {"batch_norm",
     R"({op="conv2d", channels=3, kernel=1}, {op="batch_norm"}, {op="relu"}, {op="conv2d", channels=2, kernel=1})"},
    {"residual", R"({op="conv2d", name="a", channels=4, kernel=3, padding=1}, {op="relu", name="r"},
       {op="conv2d", name="b", channels=4, kernel=3, padding=1}, {op="add", from=["b","r"]}, {op="relu"},
       {op="conv2d", channels=2, kernel=1})"},
    {"concat",
     R"({op="conv2d", name="a", channels=3, kernel=1}, {op="conv2d", name="b", channels=2, kernel=1, from="input"},
       {op="concat", from=["a","b"]}, {op="conv2d", channels=2, kernel=1})"},
    {"slice",
     R"({op="conv2d", channels=4, kernel=1}, {op="slice", begin=[1,0,1], step=[2,2,1]}, {op="conv2d", channels=2, kernel=1})"},
    {"pad",
     R"({op="conv2d", channels=2, kernel=1}, {op="pad", before=[1,0,1], after=[0,2,1]}, {op="conv2d", channels=2, kernel=2})"},
    {"dropout",
     R"({op="conv2d", channels=3, kernel=1}, {op="dropout", share=0.4}, {op="conv2d", channels=2, kernel=1})"},
    {"fake_quantize", R"({op="conv2d", channels=3, kernel=1},
       {op="fake_quantize", low=-1000000, high=1000000}, {op="relu"}, {op="conv2d", channels=2, kernel=1})"},
    {"weight_step",
     R"({op="conv2d", channels=6, kernel=3, groups=2, bias=true, weight_steps=1, weight_format="int16"})"},
    {"weight_steps", R"({op="conv2d", channels=3, kernel=3, weight_steps=3, weight_format="int16"},
       {op="flatten"}, {op="linear", features=4, bias=true, weight_steps=4, weight_format="int16"})"},
    {"fake_quantize_read_twice",
     R"({op="conv2d", channels=3, kernel=1}, {op="fake_quantize", name="q", low=-1000000, high=1000000},
       {op="conv2d", name="a", channels=3, kernel=3, padding=1}, {op="add", name="s", from=["a","q"]},
       {op="conv2d", name="b", channels=3, kernel=1, from="q"}, {op="add", from=["s","b"]},
       {op="conv2d", channels=2, kernel=1})"},
};

class TapeGradients : public ::testing::TestWithParam<Networks> {};

Network network_of(const Networks& each) {
  const std::string tail =
      R"(, {op="flatten", name="flat"}, {op="linear", name="last", features=3}, {op="softmax_cross_entropy"}])";
  return parse_network("input = " + std::string(each.input) + "\nlayers = [" + each.layers + tail,
                       each.name);
}

TEST_P(TapeGradients, FollowTheLoss) {
  const Network network = network_of(GetParam());
  TapeUnderTest tape(network, kTapeImages);
  expect_gradients_of_the_loss(tape, network);
}

TEST_P(TapeGradients, DoNotDependOnTheNumberOfThreads) {
  const Network network = network_of(GetParam());
  std::vector<std::vector<float>> first;
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    TapeUnderTest tape(network, 37);
    tape.run();
    const auto gradients = tape.gradients();
    if (first.empty()) first = gradients;
    EXPECT_EQ(gradients, first) << threads << " threads";
  }
  set_thread_count(0);
}

INSTANTIATE_TEST_SUITE_P(Of, TapeGradients, ::testing::ValuesIn(kNetworks),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Tape, FreesEveryValueAtTheEnd) {
  const Network network = network_of(kNetworks[13]);
  TapeUnderTest tape(network, kTapeImages);
  tape.run();
  EXPECT_EQ(tape.pool().bytes_in_use(), 0U);
  EXPECT_GT(tape.pool().peak_bytes(), 0U);
}

TEST(Tape, NeedsLessMemoryWithoutTheWayBack) {
  const Network network = load_network("vgg-small-7");
  TapeUnderTest both(network, 2);
  both.run();
  TapeUnderTest forward(network, 2);
  forward.run_forward(false);
  EXPECT_LT(forward.pool().peak_bytes(), both.pool().peak_bytes() / 2);
}

// Values before rounding are kept, rounded ones are made of them again.
TEST(Tape, RoundedValuesTakeNoMemoryOfTheirOwn) {
  const auto peak_of = [](const std::string& rounding) {
    std::string layers;
    for (int i = 0; i < 6; ++i)
      layers += R"({op="conv2d", channels=8, kernel=1}, {op="relu"}, )" + rounding;
    layers += R"({op="conv2d", channels=1, kernel=1})";
    TapeUnderTest tape(network_of({"chain", layers.c_str(), "[16, 16, 8]"}), 4);
    tape.run();
    return static_cast<double>(tape.pool().peak_bytes());
  };
  EXPECT_LT(peak_of(R"({op="fake_quantize", low=0, high=255}, )"), 1.5 * peak_of(""));
}

// Nobody asks for the error of what is rounded first, then.
TEST(Tape, StepsThatAreNotTrainedTakeNoErrorOfTheInput) {
  const Network network = network_of(
      {"first",
       R"({op="fake_quantize", low=-1000000, high=1000000}, {op="conv2d", channels=1, kernel=1},
                   {op="fake_quantize", low=-1000000, high=1000000}, {op="conv2d", channels=1, kernel=1})",
       "[16, 16, 8]"});
  TapeUnderTest trained(network, 4);
  TapeUnderTest fixed(network, 4, {}, nullptr, false);
  trained.run();
  fixed.run();
  EXPECT_LT(fixed.pool().peak_bytes(), trained.pool().peak_bytes());
  const std::vector<Parameter> parameters = parameters_of(network);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (parameters[p].kind == "step") continue;
    EXPECT_TRUE(std::ranges::equal(trained.parameter(p).gradient.as<float>(),
                                   fixed.parameter(p).gradient.as<float>()))
        << parameters[p].name;
  }
}

TEST(Tape, ReluPassesWhereRoundingMadeAZero) {
  const Network network = network_of(kNetworks[6]);
  PrecisionPolicy policy;
  PolicyRule rule;
  rule.roles = {Role::activation};
  rule.layers = "relu1";
  rule.rounding.precision.format = parse_format("fixed(4,-8)");  // everything rounds to zero
  policy.rules.push_back(rule);
  TapeUnderTest plain(network, kTapeImages);
  TapeUnderTest rounded(network, kTapeImages, policy);
  plain.run();
  rounded.run();
  // The gradient of the first convolution still flows: straight through the rounding.
  const auto gradient = rounded.parameter(0).gradient.as<float>();
  EXPECT_TRUE(std::ranges::any_of(gradient, [](float x) { return x != 0; }));
}

TEST(Tape, ClampedValuesPassNoGradientWhereAsked) {
  const Network network = network_of(kNetworks[0]);
  PrecisionPolicy policy;
  PolicyRule rule;
  rule.roles = {Role::activation};
  rule.layers = "conv1";
  rule.rounding.precision.format = parse_format("fixed(8,30)");  // range ±2^-23: all is clamped
  rule.rounding.zeroes_clamped = true;
  policy.rules.push_back(rule);
  TapeUnderTest tape(network, kTapeImages, policy);
  tape.run();
  for (const float x : tape.parameter(0).gradient.as<float>()) EXPECT_EQ(x, 0.0F);
}

}  // namespace
}  // namespace nibble::inline float_training
