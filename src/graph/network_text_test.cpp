// SPDX-License-Identifier: Apache-2.0
// Tests of the TOML form: what a person may write, and the line that says what is wrong.
#include "nibble/graph/network_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/test_corpus.h"
#include "graph/graph_test_support.h"
#include "nibble/core/limits.h"

namespace nibble::inline graph {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Network parse(const std::string& layers, const std::string& head = "input = [8, 8, 3]\n") {
  return parse_network(head + "layers = [\n" + layers + "\n]\n", "nets/test.toml");
}

std::string error_in(const std::string& layers, const std::string& head = "input = [8, 8, 3]\n") {
  return error_of([&] { (void)parse(layers, head); });
}

std::vector<std::string> names_of(const Network& network) {
  std::vector<std::string> names;
  for (const Node& node : network.nodes) names.push_back(node.name);
  return names;
}

template <class T>
T op_in(const std::string& layer) {
  return std::get<T>(parse(layer).nodes.at(1).op);
}

TEST(NetworkText, TheExampleOfTheDocumentationIsRead) {
  const Network network = parse_network(R"(
name = "convnet-16-16"
input = [28, 28, 1]            # one example
mean = [0.1307]
deviation = [0.3081]
classes = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
layers = [
  { op = "conv2d", name = "conv1", channels = 16, kernel = 3 },
  { op = "max_pool", kernel = 2 }, { op = "relu" },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 10, bias = true },
  { op = "softmax_cross_entropy" } ]
)",
                                        "test");
  EXPECT_EQ(network.name, "convnet-16-16");
  EXPECT_THAT(names_of(network),
              ElementsAre("input", "conv1", "pool1", "relu1", "flatten1", "fc", "loss"));
  EXPECT_EQ(network.class_names.size(), 10U);
  EXPECT_EQ(input_of(network).mean, std::vector<float>{0.1307F});
  EXPECT_EQ(input_of(network).deviation, std::vector<float>{0.3081F});
  EXPECT_EQ(network.nodes[5].op, Op(Linear{.features = 10, .has_bias = true}));
  EXPECT_EQ(network.nodes[5].inputs, std::vector<std::size_t>{4});
}

TEST(NetworkText, TheNameIsThatOfTheFileWithoutOne) {
  EXPECT_EQ(parse("{ op = 'relu' }").name, "test");
}

TEST(NetworkText, ExtentsAreOneNumberOrTwo) {
  EXPECT_EQ(op_in<Conv2d>("{ op = 'conv2d', channels = 4, kernel = [1, 3], stride = 2, "
                          "padding = [0, 1], dilation = [2, 1], bias = true }"),
            (Conv2d{.channels = 4,
                    .kernel = {1, 3},
                    .stride = {2, 2},
                    .padding = {0, 1},
                    .dilation = {2, 1},
                    .has_bias = true}));
}

TEST(NetworkText, APoolStepsByItsKernelUnlessTold) {
  EXPECT_EQ(op_in<MaxPool>("{ op = 'max_pool', kernel = [3, 2] }"),
            (MaxPool{.kernel = {3, 2}, .stride = {3, 2}}));
  EXPECT_EQ(
      op_in<AveragePool>("{ op = 'average_pool', kernel = 3, stride = 1, counts_padding = false }"),
      (AveragePool{.kernel = {3, 3}, .stride = {1, 1}, .counts_padding = false}));
}

TEST(NetworkText, DepthwiseHasAsManyGroupsAsChannelsEnter) {
  EXPECT_EQ(op_in<Conv2d>("{ op = 'depthwise', kernel = 3 }"),
            (Conv2d{.channels = 3, .groups = 3}));
  EXPECT_EQ(op_in<Conv2d>("{ op = 'depthwise', multiplier = 2 }"),
            (Conv2d{.channels = 6, .groups = 3}));
  EXPECT_EQ(op_in<Conv2d>("{ op = 'depthwise', channels = 9 }"),
            (Conv2d{.channels = 9, .groups = 3}));
  EXPECT_THAT(error_in("{ op = 'depthwise', channels = 9, multiplier = 3 }"),
              HasSubstr("layers[0].multiplier: got channels beside it"));
  EXPECT_THAT(error_in("{ op = 'depthwise', groups = 3 }"), HasSubstr("'groups': got an unknown"));
  EXPECT_THAT(error_in("{ op = 'flatten' }, { op = 'depthwise' }"),
              HasSubstr("layers[1].op: got depthwise on (192,)"));
}

TEST(NetworkText, SlicesAndPadsNeedOnlyWhatTheyChange) {
  EXPECT_EQ(op_in<Slice>("{ op = 'slice', step = [2, 2, 1] }"),
            (Slice{{0, 0, 0}, {0, 0, 0}, {2, 2, 1}}));
  EXPECT_EQ(op_in<Pad>("{ op = 'pad', after = [1, 1, 0] }"), (Pad{{0, 0, 0}, {1, 1, 0}}));
}

TEST(NetworkText, LayersTakeOthersByName) {
  const Network network = parse(R"(
    { op = "relu" },
    { op = "relu6", from = "input" },
    { op = "add", from = ["relu1", "relu2", "input"] })");
  EXPECT_EQ(network.nodes[2].inputs, std::vector<std::size_t>{0});
  EXPECT_THAT(network.nodes[3].inputs, ElementsAre(1, 2, 0));
  EXPECT_EQ(error_in("{ op = 'relu', from = 'relu9' }"),
            "[network] nets/test.toml:3: layers[0].from: got 'relu9', expected the name of an "
            "earlier layer");
  EXPECT_THAT(error_in("{ op = 'relu', from = [] }"), HasSubstr("an empty list"));
  EXPECT_THAT(error_in("{ op = 'add' }"), HasSubstr("inputs: got 1, expected 2 or more"));
}

TEST(NetworkText, TheNumberInANameCountsLayersOfItsKind) {
  EXPECT_THAT(names_of(parse("{ op = 'relu', name = 'first' }, { op = 'relu' }, { op = 'relu6' }")),
              ElementsAre("input", "first", "relu2", "relu3"));
  EXPECT_THAT(names_of(parse("{ op = 'relu' }, { op = 'relu', name = 'relu1' }")),
              ElementsAre("input", "relu1_", "relu1"));
  EXPECT_THAT(error_in("{ op = 'relu', name = 'a' },\n{ op = 'relu', name = 'a' }"),
              HasSubstr("nets/test.toml:4: layers[1].name: got 'a', expected a name that is not "));
  EXPECT_THAT(error_in("{ op = 'relu', name = 'a b' }"), HasSubstr("expected letters, digits"));
}

TEST(NetworkText, PrecisionsAreFormatRoundingAndOverflow) {
  const Network network = parse_network(R"toml(
input = { shape = [4], name = "x", format = "int8" }
[[layers]]
op = "linear"
features = 2
format = "e5m2"
rounding = "stochastic(16)"
overflow = "saturate"
weight_format = "mxfp4"
)toml",
                                        "test");
  EXPECT_EQ(network.nodes[0].name, "x");
  EXPECT_EQ(network.nodes[0].value.format, parse_format("int8"));
  EXPECT_EQ(network.nodes[1].value.format, parse_format("e5m2"));
  EXPECT_EQ(network.nodes[1].value.rounding, parse_rounding("stochastic(16)"));
  EXPECT_EQ(network.nodes[1].value.overflow, Overflow::saturate);
  EXPECT_EQ(network.nodes[1].weight.format, parse_format("mxfp4"));
  EXPECT_THAT(error_in("{ op = 'relu', format = 'e9m9' }"),
              HasSubstr("nets/test.toml:3: layers[0].format: "));
  EXPECT_THAT(error_in("{ op = 'relu', weight_format = 'fp16' }"),
              HasSubstr("layers[0].'weight_format': got an unknown key"));
}

TEST(NetworkText, ErrorsNameLineAndKey) {
  EXPECT_EQ(error_in("{ op = 'relu' },\n{ op = 'conv2d', channels = 4,  kernels = 3 }"),
            "[network] nets/test.toml:4: layers[1].'kernels': got an unknown key, expected one of "
            "name, op, from, channels, kernel, stride, padding, dilation, groups, bias, "
            "weight_steps, format, "
            "rounding, overflow, weight_format, weight_rounding, weight_overflow");
  EXPECT_EQ(error_in("{ op = 'conv2d', channels = '4' }"),
            "[network] nets/test.toml:3: layers[0].channels: got '4', expected an integer, 1 to "
            "2147483647");
  EXPECT_THAT(error_in("{ op = 'conv2d' }"), HasSubstr("channels: got nothing"));
  EXPECT_THAT(error_in("{ op = 'conv2d', channels = 0 }"), HasSubstr("channels: got 0"));
  EXPECT_THAT(error_in("{ op = 'conv2d', channels = 4, kernel = [1, 2, 3] }"),
              HasSubstr("kernel: got 3 numbers"));
  EXPECT_THAT(error_in("{ op = 'conv2d', channels = 4, bias = 1 }"), HasSubstr("true or false"));
  EXPECT_THAT(error_in("{ op = 'dropout', share = 1.5 }"),
              HasSubstr(":3: layers[0].op: node 'dropout1' (dropout): share: got 1.5"));
  EXPECT_THAT(error_in("{ op = 'dropout', share = 1e300 }"), HasSubstr("a finite number"));
  EXPECT_THAT(error_in("{ op = 'dropout', share = nan }"), HasSubstr("layers[0].share: got nan"));
  EXPECT_THAT(error_in("{ op = 'attention' }"), HasSubstr("layers[0].op: got 'attention'"));
  EXPECT_THAT(error_in("{ op = 'input' }"), HasSubstr("layers[0].op: got 'input'"));
  EXPECT_THAT(error_in("{ name = 'x' }"), HasSubstr("layers[0].op: got nothing"));
  EXPECT_THAT(error_in("3"), HasSubstr(":3: layers[0]: got 3, expected a table in braces"));
  EXPECT_THAT(error_in("{ op = 1979-05-27 }"), HasSubstr("got a date or time, expected a string"));
  EXPECT_THAT(error_in("{ op = 'relu' "), HasSubstr("[network] nets/test.toml:"));
  EXPECT_THAT(error_in("{ op = 'softmax_cross_entropy' }"), HasSubstr("flatten makes one"));
}

TEST(NetworkText, ErrorsAreOfInputOrOfALimit) {
  const auto kind_of = [](const std::string& layers) {
    return error_kind_of([&] { (void)parse(layers); });
  };
  EXPECT_EQ(kind_of("{ op = 'attention' }"), ErrorKind::input);
  EXPECT_EQ(kind_of("{ op = 'relu', format = 'e99m99' }"), ErrorKind::input);
  EXPECT_EQ(kind_of("{ op = 'dropout', share = 1.5 }"), ErrorKind::input);
  const LimitsScope scope(parse_limits("nodes=2,geometry=2"));
  EXPECT_EQ(kind_of("{ op = 'conv2d', channels = 4, kernel = 99 }"), ErrorKind::limit);
  EXPECT_EQ(kind_of("{ op = 'relu' }, { op = 'relu' }"), ErrorKind::limit);
}

TEST(NetworkText, TheHeadIsChecked) {
  const std::string relu = "{ op = 'relu' }";
  EXPECT_THAT(error_in(relu, ""), HasSubstr("input: got nothing"));
  EXPECT_THAT(error_in(relu, "input = [1, 2]\n"), HasSubstr(":1: input: got 2 extents"));
  EXPECT_THAT(error_in(relu, "input = [8, 8, -3]\n"), HasSubstr("input: got -3"));
  EXPECT_THAT(error_in(relu, "input = { shapes = [4] }\n"), HasSubstr("input.shape: got nothing"));
  EXPECT_THAT(error_in(relu, "input = [4]\nmeans = [1]\n"), HasSubstr(":2: 'means': got an unkn"));
  EXPECT_THAT(error_in(relu, "input = [4]\nmean = [1]\n"), HasSubstr("input: node 'input'"));
  EXPECT_THAT(error_in(relu, "input = [1]\nmean = [inf]\n"), HasSubstr(":2: mean: got inf"));
  EXPECT_THAT(error_of([] { (void)parse_network("input = [4]", "x"); }),
              HasSubstr("layers: got nothing"));
  EXPECT_THAT(error_of([] { (void)parse_network("input = [4]\nlayers = 1", "x"); }),
              HasSubstr("x:2: layers: got an integer, expected a list of tables"));
}

TEST(NetworkText, EveryFileOfTheCorpusIsReadOrRefusedAsItsNameSays) {
  for_each_corpus_file("network", 20, [](const fs::path& path, bool is_valid) {
    std::ifstream in(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(error_of([&] { (void)parse_network(text, "x"); }) == "no error", is_valid);
  });
}

TEST(LoadNetwork, TakesNamesAndPaths) {
  EXPECT_EQ(load_network("lenet").name, "lenet");
  const fs::path path =
      fs::temp_directory_path() / ("nibble_network_" + std::to_string(::getpid()) + ".toml");
  EXPECT_EQ(error_of([&] { (void)load_network(path.string()); }),
            "[network] cannot read " + path.string() + ": No such file or directory");
  std::ofstream(path) << "input = [3]\nlayers = [{ op = 'relu' }]\n";
  EXPECT_EQ(load_network(path.string()).name, path.stem().string());
  fs::remove(path);
  EXPECT_THAT(error_of([] { (void)load_network("alexnet"); }),
              HasSubstr("got 'alexnet', expected mlp-64-32-10, "));
}

}  // namespace
}  // namespace nibble::inline graph
