// SPDX-License-Identifier: Apache-2.0
#include "nibble/float_training/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Policy, TheLastRuleThatFitsCounts) {
  const PrecisionPolicy policy = parse_policy(R"(
[[round]]
role = ["weight", "activation"]
format = "e4m3"
[[round]]
role = "weight"
layers = "fc*"
format = "bf16"
rounding = "stochastic"
[[round]]
role = "weight"
layers = "fc2"
format = "fp32"
)",
                                              "p.toml");
  EXPECT_EQ(policy.name, "p");
  EXPECT_EQ(to_string(policy.find(Role::weight, "conv1")->precision.format), "e4m3");
  EXPECT_EQ(to_string(policy.find(Role::weight, "fc1")->precision.format), "bf16");
  EXPECT_TRUE(policy.find(Role::weight, "fc1")->precision.rounding.is_stochastic());
  EXPECT_EQ(policy.find(Role::weight, "fc2"), nullptr);
  EXPECT_EQ(policy.find(Role::error, "conv1"), nullptr);
  EXPECT_EQ(policy.find(Role::weight, "conv1", "bias"), nullptr);
}

TEST(Policy, PatternsKnowStarsAndQuestionMarks) {
  PrecisionPolicy policy;
  PolicyRule rule;
  rule.roles = {Role::activation};
  rule.rounding.precision.format = parse_format("e4m3");
  rule.layers = "s?*.conv*1";
  policy.rules.push_back(rule);
  EXPECT_NE(policy.find(Role::activation, "stage2.conv1"), nullptr);
  EXPECT_NE(policy.find(Role::activation, "s1.conv_x1"), nullptr);
  EXPECT_EQ(policy.find(Role::activation, "s.conv1"), nullptr);
  EXPECT_EQ(policy.find(Role::activation, "s1.conv2"), nullptr);
}

TEST(Policy, BadInputNamesLineAndKey) {
  const auto parse = [](const char* toml) {
    return error_of([&] { parse_policy(toml, "p.toml"); });
  };
  EXPECT_THAT(parse("[[round]]\nrole = \"wieght\"\nformat = \"e4m3\"\n"),
              AllOf(HasSubstr("p.toml:2"), HasSubstr("wieght"), HasSubstr("weight, activation")));
  EXPECT_THAT(parse("[[round]]\nrole = \"weight\"\nformat = \"e4m99\"\n"),
              AllOf(HasSubstr("p.toml:3"), HasSubstr("format")));
  EXPECT_THAT(parse("[[round]]\nrole = \"weight\"\n"), HasSubstr("format"));
  EXPECT_THAT(parse("[[round]]\nrole = \"weight\"\nformat = \"e4m3\"\nlayer = \"x\"\n"),
              AllOf(HasSubstr("p.toml:4"), HasSubstr("layer")));
  EXPECT_THAT(parse("round = 3\n"), HasSubstr("round"));
  EXPECT_THAT(parse("loss_scale = -1\n"), HasSubstr("loss_scale"));
  EXPECT_THAT(
      parse("[[round]]\nrole = \"activation\"\nformat = \"bfp(8)\"\nclamped_gradient = \"zero\"\n"),
      HasSubstr("clamped_gradient"));
  EXPECT_THAT(parse("[[round]]\nrole = [\"accumulator\", \"weight\"]\nformat = \"fp16\"\n"),
              HasSubstr("rule of its own"));
  EXPECT_THAT(parse("[[round]]\nrole = \"accumulator\"\nformat = \"fp16\"\nmethod = \"kahn\"\n"),
              HasSubstr("got 'kahn', expected separate, fused, kahan or quire"));
  EXPECT_THAT(
      parse("[[round]]\nrole = \"activation\"\nformat = \"e4m3\"\nclamped_gradient = \"zeros\"\n"),
      HasSubstr("got 'zeros', expected pass or zero"));
}

TEST(Policy, ARuleThatFitsNoLayerIsRefused) {
  const Network network = load_network("lenet");
  const auto check = [&](const char* toml) {
    return error_of([&] { check_policy(parse_policy(toml, "p.toml"), network); });
  };
  EXPECT_EQ(check("[[round]]\nrole = \"weight\"\nlayers = \"conv*\"\nformat = \"e4m3\"\n"),
            "no error");
  EXPECT_THAT(check("[[round]]\nrole = \"weight\"\nlayers = \"cnov*\"\nformat = \"e4m3\"\n"),
              AllOf(HasSubstr("cnov*"), HasSubstr("lenet")));
  // It names a layer, but one without weights.
  EXPECT_THAT(check("[[round]]\nrole = \"weight\"\nlayers = \"relu1\"\nformat = \"e4m3\"\n"),
              HasSubstr("relu1"));
}

TEST(Policy, AnAccumulatorRuleCarriesItsMethod) {
  const PrecisionPolicy policy = parse_policy(R"([[round]]
role = "accumulator"
format = "e6m9"
product_format = "e5m10"
method = "kahan"
chunk = 64
)",
                                              "p.toml");
  const RoundingRule* rule = policy.find(Role::accumulator, "conv1");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->accumulator->method, SumMethod::kahan);
  EXPECT_EQ(rule->accumulator->chunk, 64);
  EXPECT_EQ(to_string(rule->accumulator->product_format), "fp16");
}

TEST(RoundingPoints, AreWhereAMachineWouldStoreNumbers) {
  const Network network = parse_network(R"(
input = [8, 8, 3]
layers = [{op="conv2d", name="a", channels=4, kernel=1}, {op="batch_norm", name="n"}, {op="relu", name="r"},
  {op="max_pool", name="p", kernel=2}, {op="conv2d", name="b", channels=4, kernel=1}, {op="add", name="s", from=["b", "p"]},
  {op="flatten", name="f"}, {op="linear", name="l", features=10}, {op="softmax_cross_entropy"}])",
                                        "test");
  const RoundingPoints points = rounding_points(network);
  std::string activation;
  std::string error;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (points.activation[i]) activation += network.nodes[i].name + " ";
    if (points.error[i]) error += network.nodes[i].name + " ";
  }
  EXPECT_EQ(activation, "input r b s l ");
  EXPECT_EQ(error, "a r b s l ");
}

TEST(WithFormats, TheNetworkSaysWhatItsNumbersAre) {
  const PrecisionPolicy policy =
      parse_policy("[[round]]\nrole = [\"weight\", \"activation\"]\nformat = \"e4m3\"\n", "p");
  const Network network = with_formats(load_network("lenet"), policy);
  EXPECT_EQ(to_string(network.nodes[find_node(network, "conv1")].weight.format), "e4m3");
  EXPECT_TRUE(
      network.nodes[find_node(network, "conv1")].value.is_float32());  // its relu is rounded
  EXPECT_EQ(to_string(network.nodes[find_node(network, "relu1")].value.format), "e4m3");
}

}  // namespace
}  // namespace nibble::inline float_training
