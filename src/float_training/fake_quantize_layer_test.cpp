// SPDX-License-Identifier: Apache-2.0
// Steps of values and of weights on the tape: gradients by hand, and who else may round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/test_support.h"
#include "float_training/optimizer.h"
#include "float_training/test_networks.h"
#include "float_training/weight_quantizer.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kImages = 5;
constexpr std::size_t kIn = 4;
constexpr std::size_t kOut = 3;
constexpr IntegerGrid kGrid{-8, 7};

double input_at(std::size_t image, std::size_t i) {
  return 2.0 * static_cast<double>(test_value(1, image * kIn + i));
}

void set(LayerParameter& parameter, std::initializer_list<float> values) {
  std::ranges::copy(values, parameter.value.as<float>().begin());
  ++parameter.version;
}

// What LSQ says of one number, in double.
struct Slopes {
  bool passes;
  double by_step;
};
Slopes slopes_of(double x, double step) {
  const double quotient = x / step;
  const auto low = static_cast<double>(kGrid.low);
  const auto high = static_cast<double>(kGrid.high);
  if (quotient < low) return {false, low};
  if (quotient > high) return {false, high};
  return {true, std::round(quotient) - quotient};
}

TEST(FakeQuantizeLayer, GradientsByHand) {
  const Network network = parse_network(R"(
input = [4]
layers = [{op="linear", features=3}, {op="fake_quantize", low=-8, high=7}, {op="squared_error"}])",
                                        "test");
  TapeUnderTest tape(network, kImages);
  const float step = 0.11F;
  set(tape.parameter(1), {step});
  tape.run();
  const auto weight = tape.parameter(0).value.as<float>();
  std::vector<double> weight_gradient(kOut * kIn);
  double step_gradient = 0;
  std::size_t cut = 0;
  for (std::size_t image = 0; image < kImages; ++image) {
    for (std::size_t o = 0; o < kOut; ++o) {
      double sum = 0;
      for (std::size_t i = 0; i < kIn; ++i)
        sum += static_cast<double>(weight[o * kIn + i]) * input_at(image, i);
      const double y = static_cast<double>(fake_quantized(static_cast<float>(sum), step, kGrid));
      const double error = (y - (image % 3 == o ? 1.0 : 0.0)) / kImages;
      const Slopes slopes = slopes_of(sum, static_cast<double>(step));
      step_gradient += error * slopes.by_step;
      cut += slopes.passes ? 0 : 1;
      for (std::size_t i = 0; slopes.passes && i < kIn; ++i)
        weight_gradient[o * kIn + i] += error * input_at(image, i);
    }
  }
  EXPECT_GT(cut, 0U);
  EXPECT_LT(cut, kImages * kOut);
  for (std::size_t i = 0; i < weight_gradient.size(); ++i)
    EXPECT_NEAR(tape.parameter(0).gradient.as<float>()[i], weight_gradient[i], 1e-5) << i;
  EXPECT_NEAR(tape.parameter(1).gradient.as<float>()[0], step_gradient / std::sqrt(3.0 * 7), 1e-5);
}

// Steps of channels are given, not trained, and errors pass as they are.
TEST(FakeQuantizeLayer, StepsOfChannelsRoundEachItsOwn) {
  const Network network = parse_network(R"(
input = [4]
layers = [{op="linear", features=3}, {op="fake_quantize", low=-800, high=800, steps=3},
          {op="squared_error"}])",
                                        "test");
  TapeUnderTest tape(network, kImages);
  set(tape.parameter(1), {0.01F, 0.05F, 0.1F});
  tape.run();
  const auto weight = tape.parameter(0).value.as<float>();
  const auto step = tape.parameter(1).value.as<float>();
  for (std::size_t o = 0; o < kOut; ++o) {
    std::vector<double> gradient(kIn);
    for (std::size_t image = 0; image < kImages; ++image) {
      double sum = 0;
      for (std::size_t i = 0; i < kIn; ++i)
        sum += static_cast<double>(weight[o * kIn + i]) * input_at(image, i);
      const double rounded =
          static_cast<double>(step[o]) * std::round(sum / static_cast<double>(step[o]));
      const double error = (rounded - (image % 3 == o ? 1.0 : 0.0)) / kImages;
      for (std::size_t i = 0; i < kIn; ++i) gradient[i] += error * input_at(image, i);
    }
    for (std::size_t i = 0; i < kIn; ++i)
      EXPECT_NEAR(tape.parameter(0).gradient.as<float>()[o * kIn + i], gradient[i], 1e-5) << o;
    EXPECT_EQ(tape.parameter(1).gradient.as<float>()[o], 0);
  }
}

// One step, and one an output.
class WeightSteps : public ::testing::TestWithParam<std::size_t> {};

TEST_P(WeightSteps, GradientsByHand) {
  const std::size_t steps = GetParam();
  const Network network = parse_network(
      "input = [4]\nlayers = [{op=\"linear\", features=3, weight_format=\"int4\", " +
          std::string("weight_steps=") + std::to_string(steps) + "}, {op=\"squared_error\"}]",
      "test");
  TapeUnderTest tape(network, kImages);
  steps == 1 ? set(tape.parameter(1), {0.05F}) : set(tape.parameter(1), {0.05F, 0.02F, 0.1F});
  tape.run();
  const auto weight = tape.parameter(0).value.as<float>();
  const auto step = tape.parameter(1).value.as<float>();
  std::vector<double> step_gradient(steps);
  for (std::size_t o = 0; o < kOut; ++o) {
    const float own = step[steps == 1 ? 0 : o];
    std::vector<double> by_rounded(kIn);
    for (std::size_t image = 0; image < kImages; ++image) {
      double y = 0;
      for (std::size_t i = 0; i < kIn; ++i) {
        y += static_cast<double>(fake_quantized(weight[o * kIn + i], own, kGrid)) *
             input_at(image, i);
      }
      const double error = (y - (image % 3 == o ? 1.0 : 0.0)) / kImages;
      for (std::size_t i = 0; i < kIn; ++i) by_rounded[i] += error * input_at(image, i);
    }
    for (std::size_t i = 0; i < kIn; ++i) {
      const Slopes slopes =
          slopes_of(static_cast<double>(weight[o * kIn + i]), static_cast<double>(own));
      step_gradient[steps == 1 ? 0 : o] += by_rounded[i] * slopes.by_step;
      EXPECT_NEAR(tape.parameter(0).gradient.as<float>()[o * kIn + i],
                  slopes.passes ? by_rounded[i] : 0.0, 1e-5);
    }
  }
  const double elements = static_cast<double>(kOut * kIn) / static_cast<double>(steps);
  for (std::size_t k = 0; k < steps; ++k) {
    EXPECT_NEAR(tape.parameter(1).gradient.as<float>()[k],
                step_gradient[k] / std::sqrt(elements * 7), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, WeightSteps, ::testing::Values(std::size_t{1}, kOut));

constexpr const char* kTwo = R"(
input = [5, 5, 2]
layers = [{op="conv2d", name="a", channels=3, kernel=3}, {op="conv2d", name="b", channels=3, kernel=2STEPS},
          {op="flatten"}, {op="softmax_cross_entropy"}])";

Network two_convolutions(bool has_steps) {
  std::string text = kTwo;
  text.replace(text.find("STEPS"), 5, has_steps ? ", weight_steps=3, weight_format=\"int4\"" : "");
  return parse_network(text, "test");
}

PrecisionPolicy summing_in_fp32() {
  PrecisionPolicy policy;
  PolicyRule rule;
  rule.roles = {Role::accumulator};
  rule.rounding.accumulator = accumulator_of(parse_format("fp32"));
  policy.rules.push_back(rule);
  return policy;
}

// A convolution with steps is one whose weights were rounded before.
void compare_with_rounded_weights(const PrecisionPolicy& policy) {
  TapeUnderTest steps(two_convolutions(true), kImages, policy);
  TapeUnderTest plain(two_convolutions(false), kImages, policy);
  set(steps.parameter(2), {0.05F, 0.03F, 0.08F});
  for (int round = 0; round < 2; ++round) {
    const Tensor& weight = steps.parameter(1).value;
    round_weight(weight.view(), steps.parameter(2).value.as<float>(), kGrid,
                 plain.parameter(1).value.view());
    ++plain.parameter(1).version;
    const Tensor answers = copy_of(steps.run_forward(true));
    EXPECT_TRUE(std::ranges::equal(answers.as<float>(), plain.run_forward(true).as<float>()));
    steps.run();
    plain.run();
    EXPECT_EQ(steps.gradients()[0], plain.gradients()[0]) << "the error's way back";
    std::size_t cut = 0;
    for (std::size_t i = 0; i < weight.as<float>().size(); ++i) {
      const float step = steps.parameter(2).value.as<float>()[i / 12];
      const float quotient = weight.as<float>()[i] / step;
      const bool passes = quotient >= -8 && quotient <= 7;
      cut += passes ? 0 : 1;
      EXPECT_EQ(steps.gradients()[1][i], passes ? plain.gradients()[1][i] : 0.0F);
    }
    EXPECT_GT(cut, 0U);
    set(steps.parameter(2), {0.04F, 0.05F, 0.02F});  // is noticed
  }
}

TEST(WeightQuantizer, IsAWeightThatWasRoundedBefore) {
  compare_with_rounded_weights({});
}

TEST(WeightQuantizer, WorksInSimulatedProductsToo) {
  compare_with_rounded_weights(summing_in_fp32());
}

TEST(WeightQuantizer, NeedsAFormatOfIntegers) {
  Network network = two_convolutions(true);
  network.nodes[2].weight.format = {};
  EXPECT_THAT(error_of([&] { TapeUnderTest(network, kImages); }),
              HasSubstr("node 'b' (conv2d): format: got fp32, expected integers"));
}

PolicyRule rule_for(Role role, const std::string& layers, const std::string& format) {
  PolicyRule rule;
  rule.roles = {role};
  rule.layers = layers;
  rule.rounding.precision.format = parse_format(format);
  return rule;
}

Network with_steps() {
  return parse_network(R"(
input = [4]
layers = [{op="linear", name="fc", features=3, weight_steps=3, weight_format="int4"},
          {op="relu", name="r", format="e4m3"},
          {op="fake_quantize", name="q", low=0, high=15, format="uint4"}, {op="squared_error"}])",
                       "test");
}

TEST(StepsAndPolicies, RulesDoNotRoundWhatStepsRound) {
  const Network network = with_steps();
  EXPECT_TRUE(std::ranges::none_of(own_rules(network), [](const PolicyRule& rule) {
    return rule.layers == "fc" || rule.layers == "q";
  }));
  PrecisionPolicy policy;
  policy.rules = {rule_for(Role::weight, "*", "e2m1"), rule_for(Role::activation, "*", "e2m1")};
  TapeUnderTest plain(network, kImages);
  TapeUnderTest ruled(network, kImages,
                      {.name = "own", .rules = own_rules(network), .loss_scale = {}});
  for (TapeUnderTest* each : {&plain, &ruled}) {
    set(each->parameter(1), {0.05F, 0.03F, 0.08F});
    set(each->parameter(2), {0.0173F});
  }
  const Tensor answers = copy_of(plain.run_forward(false));
  EXPECT_TRUE(std::ranges::equal(answers.as<float>(), ruled.run_forward(false).as<float>()));

  const Network formatted = with_formats(network, policy);
  EXPECT_EQ(formatted.nodes[1].weight, network.nodes[1].weight);
  EXPECT_EQ(formatted.nodes[3].value, network.nodes[3].value);

  policy.rules = {rule_for(Role::weight, "fc", "e2m1")};
  EXPECT_THAT(error_of([&] { check_policy(policy, network); }), HasSubstr("'fc' for the role"));
  policy.rules = {rule_for(Role::activation, "q", "e2m1")};
  EXPECT_THAT(error_of([&] { check_policy(policy, network); }), HasSubstr("'q' for the role"));
}

TEST(StepsAndPolicies, StepsDoNotDecayAndStayAboveZero) {
  const Network network = with_steps();
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw}) {
    const PrecisionPolicy policy{
        .name = "weights", .rules = {rule_for(Role::weight, "*", "e2m1")}, .loss_scale = {}};
    Rounder rounder(network, 1);
    Tape tape(network, policy, rounder);
    Optimizer optimizer({.kind = kind, .weight_decay = 0.5}, network, policy, rounder,
                        tape.parameters());
    std::vector<Tensor> values;
    for (const LayerParameter* each : tape.parameters()) {
      values.emplace_back(DType::f32, each->value.shape());
      std::ranges::fill(values.back().as<float>(), 0.3F);
    }
    optimizer.set_masters(values);
    optimizer.refresh_weights();
    EXPECT_EQ(tape.parameters()[0]->value.as<float>()[0], 0.3F) << "rounded by the rule";
    for (LayerParameter* each : tape.parameters())
      std::ranges::fill(each->gradient.as<float>(), 0.0F);
    optimizer.step(0.1, 1, false);
    EXPECT_LT(tape.parameters()[0]->value.as<float>()[0], 0.3F);
    EXPECT_EQ(tape.parameters()[1]->value.as<float>()[0], 0.3F);
    EXPECT_EQ(tape.parameters()[2]->value.as<float>()[0], 0.3F);
    std::ranges::fill(tape.parameters()[1]->gradient.as<float>(), 1000.0F);
    for (int i = 0; i < 5; ++i) optimizer.step(0.1, 1, false);
    const float step = tape.parameters()[1]->value.as<float>()[0];
    EXPECT_GT(step, 0);
    EXPECT_LT(step, 1e-6F);
  }
}

}  // namespace
}  // namespace nibble::inline float_training
