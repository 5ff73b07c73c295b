// SPDX-License-Identifier: Apache-2.0
// Nodes of ONNX as nodes of Nibble: layouts, paddings, names. Numbers are compared by the interop
// test.
#include "nibble/foreign/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foreign/onnx/test_graph.h"

namespace nibble::inline foreign {
namespace {

using ::testing::ElementsAre;
using List = std::vector<std::int64_t>;

std::vector<std::string> names_of_ops(const Model& model) {
  std::vector<std::string> ops;
  for (const Node& node : model.network.nodes) ops.emplace_back(name_of(node.op));
  return ops;
}

std::vector<float> numbers(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

TEST(ReadOnnx, WeightsOfAConvolutionHaveTheirChannelsLast) {
  TestGraph graph({1, 2, 3, 3});
  graph.counted("stem.conv.weight", {1, 2, 1, 3});
  graph.node("Conv", {"x", "stem.conv.weight"}, "y").with("pads", List{0, 1, 0, 1});
  const Model model = graph.read();
  EXPECT_THAT(names_of_ops(model), ElementsAre("input", "conv2d"));
  EXPECT_EQ(model.network.nodes[1].name, "stem.conv");
  EXPECT_EQ(input_of(model.network).shape, (Shape{3, 3, 2}));
  EXPECT_EQ(model.parameters[0].shape(), (Shape{1, 1, 3, 2}));
  EXPECT_THAT(numbers(model.parameters[0]), ElementsAre(0, 3, 1, 4, 2, 5));
  const auto& conv = std::get<Conv2d>(model.network.nodes[1].op);
  EXPECT_EQ(conv.padding, (Extent2{0, 1}));
}

TEST(ReadOnnx, UnlikePaddingNeedsANodeUnlessItIsNeverSeen) {
  TestGraph graph({1, 1, 4, 5});
  graph.counted("w", {1, 1, 3, 3});
  graph.node("Conv", {"x", "w"}, "y")
      .with("strides", List{2, 2})
      .with("auto_pad", std::string("SAME_UPPER"));
  const Model model = graph.read();  // rows 0 and 1, columns 1 and 1
  EXPECT_THAT(names_of_ops(model), ElementsAre("input", "pad", "conv2d"));
  EXPECT_EQ(std::get<Pad>(model.network.nodes[1].op).before, (List{0, 1, 0}));
  EXPECT_EQ(std::get<Pad>(model.network.nodes[1].op).after, (List{1, 1, 0}));

  TestGraph even({1, 1, 4, 4});
  even.counted("w", {1, 1, 3, 3});
  even.node("Conv", {"x", "w"}, "y").with("strides", List{2, 2}).with("pads", List{1, 1, 0, 0});
  EXPECT_THAT(names_of_ops(even.read()), ElementsAre("input", "conv2d"));
}

TEST(ReadOnnx, ColumnsOfAProductFollowTheFlattenedPicture) {
  TestGraph graph({1, 2, 1, 2});
  graph.counted("w", {1, 4});
  graph.node("Flatten", {"x"}, "f");
  graph.node("Relu", {"f"}, "r");
  graph.node("Gemm", {"r", "w"}, "y").with("transB", std::int64_t{1}).with("alpha", 2.0F);
  const Model model = graph.read();
  EXPECT_THAT(names_of_ops(model), ElementsAre("input", "flatten", "relu", "linear"));
  EXPECT_THAT(numbers(model.parameters[0]), ElementsAre(0, 4, 2, 6));
}

TEST(ReadOnnx, ASumWithOneNumberAChannelIsABias) {
  TestGraph graph({1, 3});
  graph.counted("w", {3, 2});
  graph.floats("b", {2}, {5, 6});
  graph.node("MatMul", {"x", "w"}, "m");
  graph.node("Add", {"b", "m"}, "a");
  graph.node("Add", {"a", "b"}, "y");
  const Model model = graph.read();
  EXPECT_THAT(names_of_ops(model), ElementsAre("input", "linear", "bias"));
  EXPECT_THAT(numbers(model.parameters[0]), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(numbers(model.parameters[1]), ElementsAre(5, 6));
}

TEST(ReadOnnx, ABiasStaysOutOfAProductThatOthersRead) {
  TestGraph graph({1, 3});
  graph.counted("w", {3, 3});
  graph.floats("b", {3}, {5, 6, 7});
  graph.node("MatMul", {"x", "w"}, "m");
  graph.node("Identity", {"m"}, "i");
  graph.node("Add", {"i", "b"}, "a");
  graph.node("Add", {"a", "m"}, "y");
  EXPECT_THAT(names_of_ops(graph.read()), ElementsAre("input", "linear", "bias", "add"));
}

TEST(ReadOnnx, ShapeArithmeticOfExportersIsFolded) {
  TestGraph graph({2, 2, 2, 2});
  graph.integers("0", {0});
  graph.integers("-1", {-1});
  graph.counted("w", {8, 1});
  graph.node("Shape", {"x"}, "s");
  graph.node("Gather", {"s", "0"}, "n");
  graph.node("Concat", {"n", "-1"}, "target").with("axis", std::int64_t{0});
  graph.node("Reshape", {"x", "target"}, "v");
  graph.node("MatMul", {"v", "w"}, "y");
  EXPECT_THAT(names_of_ops(graph.read()), ElementsAre("input", "flatten", "linear"));
}

TEST(ReadOnnx, AxesOfSlicesAndPadsAreMoved) {
  TestGraph graph({1, 4, 6, 8});
  graph.integers("starts", {1, -3});
  graph.integers("ends", {3, 1'000'000});
  graph.integers("axes", {1, 3});
  graph.integers("steps", {1, 2});
  graph.integers("pads", {0, 1, 0, 0, 0, 2, 3, 0});
  graph.node("Slice", {"x", "starts", "ends", "axes", "steps"}, "s");
  graph.node("Pad", {"s", "pads"}, "y");
  const Model model = graph.read();
  const auto& slice = std::get<Slice>(model.network.nodes[1].op);
  EXPECT_EQ(slice.begin, (List{0, 5, 1}));
  EXPECT_EQ(slice.end, (List{6, 8, 3}));
  EXPECT_EQ(slice.step, (List{1, 2, 1}));
  const auto& pad = std::get<Pad>(model.network.nodes[2].op);
  EXPECT_EQ(pad.before, (List{0, 0, 1}));
  EXPECT_EQ(pad.after, (List{3, 0, 2}));
}

// Rows 0 and 1, columns 1 and 0: from the second window of a padding of 2 on, and no last window.
TEST(ReadOnnx, PoolsOfWhatIsInsideArePaddedAlikeAndCut) {
  for (const std::string kind : {"AveragePool", "MaxPool"}) {
    TestGraph graph({1, 5, 8, 9});
    graph.node(kind, {"x"}, "y")
        .with("kernel_shape", List{3, 2})
        .with("strides", List{2, 1})
        .with("pads", List{0, 1, 1, 0});
    const Model model = graph.read();
    EXPECT_EQ(names_of_ops(model)[2], "slice");
    const auto& slice = std::get<Slice>(model.network.nodes[2].op);
    EXPECT_EQ(slice.begin, (List{1, 0, 0}));
    EXPECT_EQ(slice.end, (List{5, 9, 5}));
    const auto check = [](const auto& pool) { EXPECT_EQ(pool.padding, (Extent2{2, 1})); };
    if (kind == "MaxPool") {
      check(std::get<MaxPool>(model.network.nodes[1].op));
    } else {
      check(std::get<AveragePool>(model.network.nodes[1].op));
      EXPECT_FALSE(std::get<AveragePool>(model.network.nodes[1].op).counts_padding);
    }
  }
}

TEST(ReadOnnx, ClipsAreTheRectifiersThatNibbleKnows) {
  TestGraph graph({1, 3});
  graph.floats("0", {}, {0});
  graph.floats("6", {}, {6});
  graph.node("Clip", {"x", "0", "6"}, "a");
  graph.node("Clip", {"a", "0"}, "b");
  graph.node("Dropout", {"b"}, "y");
  EXPECT_THAT(names_of_ops(graph.read()), ElementsAre("input", "relu6", "relu"));
}

TEST(ReadOnnx, AProductOnAMeanIsALinearLayer) {
  TestGraph graph({1, 2, 4, 4});
  graph.counted("w", {3, 2, 1, 1});
  graph.node("ReduceMean", {"x"}, "m").with("axes", List{2, 3});
  graph.node("Conv", {"m", "w"}, "c");
  graph.node("Squeeze", {"c"}, "y").proto().clear_input();
  graph.integers("axes", {2, 3});
  graph.graph().mutable_node(2)->add_input("c");
  graph.graph().mutable_node(2)->add_input("axes");
  EXPECT_THAT(names_of_ops(graph.read()), ElementsAre("input", "global_average_pool", "linear"));
}

TEST(ReadOnnx, SoftmaxAtTheEndGoes) {
  TestGraph graph({1, 2});
  graph.node("Relu", {"x"}, "r");
  graph.node("Softmax", {"r"}, "s");
  graph.node("ArgMax", {"s"}, "y");
  EXPECT_THAT(names_of_ops(graph.read()), ElementsAre("input", "relu"));
}

TEST(ReadOnnx, NamesAreMadeValidAndUnique) {
  TestGraph graph({1, 2});
  graph.node("Relu", {"x"}, "a").proto().set_name("/layer 1/Relu");
  graph.node("Relu", {"a"}, "b").proto().set_name("/layer 1/Relu");
  graph.node("Relu", {"b"}, "y").proto().set_name("");
  const Model model = graph.read();
  EXPECT_EQ(model.network.nodes[1].name, "layer_1.Relu");
  EXPECT_EQ(model.network.nodes[2].name, "layer_1.Relu.2");
  EXPECT_EQ(model.network.nodes[3].name, "Relu");
}

TEST(ReadOnnx, NumbersOfEveryFloatTypeAreWidened) {
  TestGraph graph({1, 2});
  auto& half = *graph.graph().add_initializer();
  half.set_name("w");
  half.set_data_type(onnx::TensorProto::FLOAT16);
  half.add_dims(2);
  half.add_dims(1);
  half.set_raw_data(std::string("\x00\x3c\x00\xc0", 4));  // 1 and -2
  graph.node("MatMul", {"x", "w"}, "y");
  EXPECT_THAT(numbers(graph.read().parameters[0]), ElementsAre(1, -2));
}

}  // namespace
}  // namespace nibble::inline foreign
