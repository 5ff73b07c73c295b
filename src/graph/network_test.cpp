// SPDX-License-Identifier: Apache-2.0
// Tests of networks as data: finding nodes, and what every network must obey.
#include "nibble/graph/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_test_support.h"

namespace nibble::inline graph {
namespace {

using testing::HasSubstr;

Network small_network() {
  return chain({4, 4, 2}, {Conv2d{.channels = 3}, Relu{}, Flatten{}, Linear{.features = 5},
                           SoftmaxCrossEntropy{}});
}

std::string error_with(const std::function<void(Network&)>& change) {
  Network network = small_network();
  change(network);
  return error_of([&] { (void)infer_shapes(network); });
}

TEST(Network, TheAnswerIsWhatTheLossSees) {
  EXPECT_EQ(output_of(small_network()), 4U);
  EXPECT_EQ(output_of(chain({3}, {Relu{}})), 1U);
  EXPECT_EQ(output_of(chain({3}, {})), 0U);
  EXPECT_THROW(output_of(Network{}), Error);
}

TEST(Network, NodesAreFoundByName) {
  EXPECT_EQ(find_node(small_network(), "n2"), 2U);
  EXPECT_EQ(error_of([] { find_node(small_network(), "n9"); }),
            "[network] node: got 'n9', expected one of chain");
  EXPECT_EQ(input_of(small_network()).shape, (Shape{4, 4, 2}));
  EXPECT_THROW(input_of(Network{}), Error);
}

TEST(Network, Float32IsThatOfTheFormatAlone) {
  EXPECT_TRUE(Precision{}.is_float32());
  EXPECT_TRUE(Precision{.format = parse_format("fp32")}.is_float32());
  EXPECT_FALSE(Precision{.format = parse_format("bf16")}.is_float32());
}

TEST(Network, NamesAreCheckedAndUnique) {
  EXPECT_THAT(error_with([](Network& n) { n.nodes[1].name = "a b"; }),
              HasSubstr("node 'a b' (conv2d): name: got 'a b', expected letters"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[1].name = ""; }), HasSubstr("name: got ''"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].name = "n1"; }),
              HasSubstr("node 'n1' (relu): name: got one that is taken"));
}

TEST(Network, OrderIsChecked) {
  EXPECT_EQ(error_of([] { (void)infer_shapes(Network{}); }),
            "[network] first node: got none, expected input");
  EXPECT_THAT(error_with([](Network& n) { n.nodes.erase(n.nodes.begin()); }),
              HasSubstr("first node: got conv2d"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].inputs = {2}; }),
              HasSubstr("node 'n2' (relu): input: got node 2, expected one before itself"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].op = n.nodes[0].op; }),
              HasSubstr("position: got 2, expected the first"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].op = SquaredError{}; }),
              HasSubstr("position: got 2, expected the last"));
}

TEST(Network, ArityIsChecked) {
  EXPECT_THAT(error_with([](Network& n) {
                n.nodes[2].inputs = {1, 1};
              }),
              HasSubstr("node 'n2' (relu): inputs: got 2, expected 1"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].op = Add{}; }),
              HasSubstr("node 'n2' (add): inputs: got 1, expected 2 or more"));
  EXPECT_THAT(error_with([](Network& n) { n.nodes[0].inputs = {0}; }),
              HasSubstr("inputs: got 1, expected 0"));
}

TEST(Network, AValueThatNobodyTakesIsRefused) {
  EXPECT_THAT(error_with([](Network& n) { n.nodes[3].inputs = {1}; }),
              HasSubstr("node 'n2' (relu): value: got nobody who takes it"));
}

TEST(Network, ClassNamesFitTheAnswer) {
  EXPECT_EQ(error_with([](Network& n) { n.class_names = {"a", "b", "c", "d", "e"}; }), "no error");
  EXPECT_THAT(error_with([](Network& n) { n.class_names = {"a"}; }),
              HasSubstr("class names: got 1, expected none, or one for each of its 5 values"));
}

TEST(Network, NamesArePrintableAndBounded) {
  EXPECT_EQ(error_with([](Network& n) { n.name = "größe 2 (v1)"; }), "no error");
  EXPECT_EQ(error_with([](Network& n) { n.name = "a\n#include <x>"; }),
            "[network] name: got 'a #include <x>', expected UTF-8 without control characters");
  EXPECT_THAT(error_with([](Network& n) { n.name = std::string(241, 'a'); }),
              HasSubstr("name: got 241 bytes, expected at most 240"));
  EXPECT_THAT(error_with([](Network& n) {
                n.class_names = {"a", "b", "\x1b[31mc", "d", "e"};
              }),
              HasSubstr("[network] class name: got '\xef\xbf\xbd[31mc', expected UTF-8"));
  for (const std::string name : {"", "-rf", ".x", "a/b", "a b", "ä", "a\n"}) {
    EXPECT_THAT(error_with([&](Network& n) { n.nodes[2].name = name; }),
                HasSubstr("expected letters, digits, '-', '_' and '.'"))
        << name;
  }
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].name = std::string(241, 'a'); }),
              HasSubstr("at most 240"));
}

TEST(Network, PrecisionsAreChecked) {
  EXPECT_EQ(error_with([](Network& n) { n.nodes[1].weight.format = parse_format("mxfp4"); }),
            "no error");
  EXPECT_THAT(error_with([](Network& n) { n.nodes[2].weight.format = parse_format("bf16"); }),
              HasSubstr("expected none: it has no weight"));
  EXPECT_THAT(error_with([](Network& n) {
                n.nodes[2].value = {.format = parse_format("int8"), .overflow = Overflow::nan};
              }),
              HasSubstr("node 'n2' (relu): value: "));
}

}  // namespace
}  // namespace nibble::inline graph
