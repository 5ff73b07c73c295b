// SPDX-License-Identifier: Apache-2.0
// Tests of the JSON form: strict, with errors that name the key.
#include "graph/network_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_test_support.h"
#include "nibble/core/limits.h"

namespace nibble::inline graph {
namespace {

using testing::HasSubstr;

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string json = to_json(chain({4}, {Linear{.features = 2}, Dropout{}}));
  const std::size_t at = json.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return json.replace(at, old_text.size(), new_text);
}

std::string error_with(const std::string& old_text, const std::string& new_text) {
  return error_of([&] { (void)network_from_json(with(old_text, new_text), "x.nib"); });
}

TEST(NetworkJson, EveryNumberIsThere) {
  EXPECT_EQ(to_json(chain({4}, {Linear{.features = 2}})),
            R"({"name":"chain","class_names":[],"nodes":[)"
            R"({"name":"input","op":"input","inputs":[],"shape":[4],"mean":[],"deviation":[],)"
            R"("value":{"format":"fp32","rounding":"nearest-even","overflow":"native"},)"
            R"("weight":{"format":"fp32","rounding":"nearest-even","overflow":"native"}},)"
            R"({"name":"n1","op":"linear","inputs":[0],"features":2,"bias":false,)"
            R"("value":{"format":"fp32","rounding":"nearest-even","overflow":"native"},)"
            R"("weight":{"format":"fp32","rounding":"nearest-even","overflow":"native"}}]})");
}

TEST(NetworkJson, WrongKeysAndTypesAreNamed) {
  EXPECT_EQ(error_with("\"features\":2", "\"features\":2.5"),
            "[network] x.nib: nodes[1].features: got 2.5, expected a 64-bit integer");
  EXPECT_THAT(error_with("\"features\":2", "\"features\":18446744073709551615"),
              HasSubstr("expected a 64-bit integer"));
  EXPECT_THAT(error_with("\"features\":2,", ""), HasSubstr("nodes[1].features: got nothing"));
  EXPECT_THAT(error_with("\"features\":2", "\"features\":2,\"more\":1"),
              HasSubstr("nodes[1]: key: got 'more', expected name, op, inputs, features, bias, "));
  EXPECT_THAT(error_with("\"share\":0.5", "\"share\":1e300"), HasSubstr("a finite number"));
  EXPECT_THAT(error_with("\"inputs\":[0]", "\"inputs\":[-1]"), HasSubstr("0 or more"));
  EXPECT_THAT(error_with("\"inputs\":[0]", "\"inputs\":[7]"), HasSubstr("one before itself"));
  EXPECT_THAT(error_with("\"op\":\"linear\"", "\"op\":\"lineal\""),
              HasSubstr("nodes[1].op: got 'lineal'"));
  EXPECT_THAT(error_with("\"fp32\"", "\"fp31\""), HasSubstr("nodes[0].value: "));
  EXPECT_THAT(error_with("\"shape\":[4]", "\"shape\":[-4]"), HasSubstr("nodes[0].shape: "));
  EXPECT_THAT(error_with("\"class_names\":[]", "\"class_names\":[[]]"), HasSubstr("a string"));
  EXPECT_THAT(error_with("\"class_names\"", "\"class\""), HasSubstr("x.nib.class_names"));
  EXPECT_THAT(error_with("\"nodes\"", "\"knots\""), HasSubstr("x.nib.nodes: got nothing"));
  EXPECT_THAT(error_with("\"class_names\"", "\"k\":1,\"class_names\""),
              HasSubstr("x.nib: key: got 'k', expected name, class_names, nodes"));
  EXPECT_THAT(error_with("\"bias\":false", "\"bias\":0"), HasSubstr("true or false"));
}

TEST(NetworkJson, BrokenAndDeepTextIsRefused) {
  const auto error = [](const std::string& text) {
    return error_of([&] { (void)network_from_json(text, "x"); });
  };
  EXPECT_THAT(error("{"), HasSubstr("x: no JSON at byte"));
  EXPECT_THAT(error("{\"name\":1e999}"), HasSubstr("x: no JSON that can be read"));
  EXPECT_THAT(error("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("deep nesting"));
  const LimitsScope scope(parse_limits("nodes=10"));
  EXPECT_THAT(error(std::string(5121, ' ')),
              HasSubstr("at most 512 for each node that limit 'nodes' allows, 5120"));
}

}  // namespace
}  // namespace nibble::inline graph
