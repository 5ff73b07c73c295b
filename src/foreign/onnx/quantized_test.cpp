// SPDX-License-Identifier: Apache-2.0
// Quantized ONNX models in, and networks of integers out. Numbers are compared with ONNX Runtime by
// the interop test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "foreign/onnx/test_graph.h"
#include "graph/test_network_maker.h"
#include "nibble/foreign/onnx.h"

namespace nibble::inline foreign {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using List = std::vector<std::int64_t>;

std::vector<std::string> ops_of(const Model& model) {
  std::vector<std::string> ops;
  for (const Node& node : model.network.nodes) ops.emplace_back(name_of(node.op));
  return ops;
}

onnx::TensorProto& bytes(TestGraph& graph, const std::string& name, const List& extents,
                         onnx::TensorProto::DataType type, const std::string& codes) {
  auto& tensor = *graph.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t each : extents) tensor.add_dims(each);
  tensor.set_raw_data(codes);
  return tensor;
}

// x of scale ½ and zero point 128 times weights of scales 2 and 4.
TestGraph qdq_graph() {
  TestGraph graph({1, 2});
  graph.floats("s", {}, {0.5F});
  bytes(graph, "z", {}, onnx::TensorProto::UINT8, "\x80");
  bytes(graph, "w", {2, 2}, onnx::TensorProto::INT8, std::string("\x01\xfe\x03\x7f", 4));
  graph.floats("ws", {2}, {2, 4});
  bytes(graph, "wz", {2}, onnx::TensorProto::INT8, std::string(2, '\0'));
  graph.node("QuantizeLinear", {"x", "s", "z"}, "q");
  graph.node("DequantizeLinear", {"q", "s", "z"}, "d");
  graph.node("DequantizeLinear", {"w", "ws", "wz"}, "dw").with("axis", std::int64_t{0});
  return graph;
}

TEST(QuantizedOnnx, ValuesKeepTheirGridAndWeightsTheirSteps) {
  TestGraph graph = qdq_graph();
  graph.node("Gemm", {"d", "dw"}, "g").with("transB", std::int64_t{1});
  graph.node("QuantizeLinear", {"g", "s", "z"}, "y");
  const Model model = graph.read();
  EXPECT_THAT(ops_of(model), ElementsAre("input", "fake_quantize", "linear", "fake_quantize"));
  const auto& grid = std::get<FakeQuantize>(model.network.nodes[1].op);
  EXPECT_EQ(grid.low, -128);
  EXPECT_EQ(grid.high, 127);
  EXPECT_THAT(model.parameters[0].as<float>(), ElementsAre(0.5F));
  EXPECT_EQ(std::get<Linear>(model.network.nodes[2].op).weight_steps, 2);
  EXPECT_EQ(to_string(model.network.nodes[2].weight.format), "int8");
  EXPECT_THAT(model.parameters[1].as<float>(), ElementsAre(2, -4, 12, 508));
  EXPECT_THAT(model.parameters[2].as<float>(), ElementsAre(2, 4));
}

TEST(QuantizedOnnx, WhatOnlyMovesNumbersIsNotRoundedTwice) {
  TestGraph graph({1, 1, 2, 2});
  graph.floats("s", {}, {0.5F});
  bytes(graph, "z", {}, onnx::TensorProto::INT8, std::string(1, '\0'));
  graph.node("QuantizeLinear", {"x", "s", "z"}, "q");
  graph.node("DequantizeLinear", {"q", "s", "z"}, "d");
  graph.node("MaxPool", {"d"}, "p").with("kernel_shape", List{2, 2});
  graph.node("QuantizeLinear", {"p", "s", "z"}, "pq");
  graph.node("DequantizeLinear", {"pq", "s", "z"}, "y");
  EXPECT_THAT(ops_of(graph.read()), ElementsAre("input", "fake_quantize", "max_pool"));
}

TEST(QuantizedOnnx, AProductOfItsOwnKindIsTheSame) {
  TestGraph graph({1, 2});
  graph.floats("s", {}, {0.5F});
  bytes(graph, "z", {}, onnx::TensorProto::UINT8, "\x80");
  bytes(graph, "w", {2, 1}, onnx::TensorProto::UINT8, "\x81\x7e");
  graph.node("QuantizeLinear", {"x", "s", "z"}, "q");
  graph.node("QLinearMatMul", {"q", "s", "z", "w", "s", "z", "s", "z"}, "y");
  const Model model = graph.read();
  EXPECT_THAT(ops_of(model), ElementsAre("input", "fake_quantize", "linear", "fake_quantize"));
  EXPECT_THAT(model.parameters[1].as<float>(), ElementsAre(0.5F, -1.0F));
}

TEST(QuantizedOnnx, WeightsOfNineBitsAreRefused) {
  TestGraph graph({1, 2});
  graph.floats("s", {}, {0.5F});
  bytes(graph, "z", {}, onnx::TensorProto::UINT8, std::string(1, '\0'));
  bytes(graph, "w", {2, 1}, onnx::TensorProto::UINT8, "\xff\x01");
  graph.node("QuantizeLinear", {"x", "s", "z"}, "q");
  graph.node("DequantizeLinear", {"q", "s", "z"}, "d");
  graph.node("DequantizeLinear", {"w", "s", "z"}, "dw");
  graph.node("MatMul", {"d", "dw"}, "y");
  EXPECT_THAT(error_of([&] { (void)graph.read(); }), HasSubstr("weights beyond 8 bits"));
}

// conv2d, rescale by a half and a quarter, to uint4 of scale 2; int4 weights.
Model integer_model() {
  Model model;
  model.network.name = "made";
  Precision four = {.format = parse_format("uint4(scale=2)")};
  model.network.nodes = {{.name = "input",
                          .op = Input{.shape = {2, 2, 1}, .mean = {}, .deviation = {}},
                          .value = {.format = parse_format("int8(scale=0.5)")}},
                         {.name = "conv.sum",
                          .op = Conv2d{.channels = 2, .kernel = {1, 1}, .has_bias = true},
                          .inputs = {0},
                          .weight = {.format = parse_format("int4")}},
                         {.name = "conv",
                          .op = Rescale{.shift = 2, .low = 0, .high = 15, .is_per_channel = true},
                          .inputs = {1},
                          .value = four}};
  model.parameters.push_back(tensor_of<std::uint8_t>(Shape{1}, {0xE3}));  // 3 and -2
  model.parameters.push_back(tensor_of<std::int32_t>(Shape{2}, {5, -6}));
  model.parameters.push_back(tensor_of<std::int32_t>(Shape{2}, {2, 1}));
  return model;
}

TEST(WriteOnnx, IntegersComeBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "made.onnx";
  write_onnx(integer_model(), path);
  const Model model = read_onnx(path);
  EXPECT_THAT(ops_of(model), ElementsAre("input", "fake_quantize", "conv2d", "fake_quantize"));
  const auto& grid = std::get<FakeQuantize>(model.network.nodes[3].op);
  EXPECT_EQ(grid.low, 0);
  EXPECT_EQ(grid.high, 15);
  EXPECT_THAT(model.parameters[0].as<float>(), ElementsAre(0.5F));
  // Steps: multiplier / 2^shift·2 / 0.5.
  EXPECT_THAT(model.parameters[1].as<float>(), ElementsAre(6, -2));
  EXPECT_THAT(model.parameters[2].as<float>(), ElementsAre(2, 1));
  EXPECT_THAT(model.parameters[3].as<float>(), ElementsAre(5, -3));
  EXPECT_THAT(model.parameters[4].as<float>(), ElementsAre(2));
}

// The Clip at the end has their range, but no step.
TEST(WriteOnnx, AnswersOf16BitsComeBack) {
  for (const float step : {0.0009765625F, 0.3F, 1e-5F, 0.0123F}) {
    Model answers = integer_model();
    answers.network.nodes[2].op =
        Rescale{.shift = 2, .low = -32767, .high = 32767, .is_per_channel = true};
    answers.network.nodes[2].value.format =
        parse_format(fmt::format("int16(symmetric,scale={})", step));
    const TemporaryFolder folder;
    write_onnx(answers, folder.path() / "made.onnx");
    const Model model = read_onnx(folder.path() / "made.onnx");
    EXPECT_THAT(ops_of(model), ElementsAre("input", "fake_quantize", "conv2d", "fake_quantize"));
    const auto& grid = std::get<FakeQuantize>(model.network.nodes[3].op);
    EXPECT_EQ(grid.low, -32767);
    EXPECT_EQ(grid.high, 32767);
    EXPECT_THAT(model.parameters[4].as<float>(), ElementsAre(step));
  }
}

TEST(QuantizedOnnx, AClipAtTheEndIsNotThatOfAnswers) {
  for (const float low : {-2.0F, -1.0F}) {  // not symmetric; not quantized
    TestGraph graph = low == -2.0F ? qdq_graph() : TestGraph({1, 2});
    graph.floats("low", {}, {low});
    graph.floats("high", {}, {1});
    graph.node("Clip", {low == -2.0F ? "d" : "x", "low", "high"}, "y");
    EXPECT_THAT(error_of([&] { (void)graph.read(); }), HasSubstr("a Clip of its own range"));
  }
}

TEST(WriteOnnx, FloatNetworksAreRefused) {
  TestGraph graph({1, 2});
  graph.node("Relu", {"x"}, "y");
  const Model model = graph.read();
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { write_onnx(model, folder.path() / "m.onnx"); }), "");
  EXPECT_EQ(folder.files(), 0);
}

}  // namespace
}  // namespace nibble::inline foreign
