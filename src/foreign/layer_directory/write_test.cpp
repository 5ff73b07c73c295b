// SPDX-License-Identifier: Apache-2.0
// Tests of writing layer directories: the same bytes again, and nothing for other networks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foreign/layer_directory/test_toy_layers.h"
#include "graph/graph_test_support.h"
#include "nibble/foreign/layer_directory.h"
#include "nibble/graph/model_file.h"

namespace nibble::inline foreign {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WrittenLayers : public testing::Test {
 protected:
  void SetUp() override {
    ToyLayers().write_to(folder_.path() / "model");
    model_ = read_layer_directory(folder_.path() / "model", {.input_size = kToySize});
  }

  // The error of writing the toy after a change of one of its nodes.
  std::string error_with(const std::string& name, const std::function<void(Node&)>& change) {
    const Network before = model_.network;
    change(model_.network.nodes[find_node(model_.network, name)]);
    const std::string error = error_of([&] { write_layer_directory(model_, out()); });
    model_.network = before;
    EXPECT_FALSE(fs::exists(out()));
    const std::string prefix = "[write_layer_directory] node '" + name + "' ";
    return error.starts_with(prefix) ? error.substr(prefix.size()) : error;
  }
  std::string error_of_rescale(const std::string& name,
                               const std::function<void(Rescale&)>& change) {
    return error_with(name, [&](Node& node) { change(std::get<Rescale>(node.op)); });
  }

  fs::path out() const { return folder_.path() / "out"; }

  const TemporaryFolder folder_;
  Model model_;
};

TEST_F(WrittenLayers, AreTheSameBytes) {
  write_layer_directory(model_, out());
  EXPECT_EQ(files_below(out()), ToyLayers().files);
}

TEST_F(WrittenLayers, AreTheSameBytesAfterAModelFile) {
  write_model(folder_.path() / "toy.nib", model_, {});
  const Model back = read_model(folder_.path() / "toy.nib").model;
  EXPECT_EQ(back.network, model_.network);
  write_layer_directory(back, out());
  EXPECT_EQ(files_below(out()), ToyLayers().files);
}

TEST_F(WrittenLayers, MayComeFromWeightsThatAreNotPacked) {
  const std::vector<Parameter> list = parameters_of(model_.network);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!is_packed(model_.network, list[i], model_.parameters[i])) continue;
    Tensor wide(DType::i8, list[i].shape);
    const auto packed = model_.parameters[i].as<std::uint8_t>();
    const auto weights = wide.as<std::int8_t>();
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const int half = packed[k / 2] >> (k % 2 * 4) & 15;
      weights[k] = static_cast<std::int8_t>((half ^ 8) - 8);
    }
    model_.parameters[i] = std::move(wide);
  }
  write_layer_directory(model_, out());
  EXPECT_EQ(files_below(out()), ToyLayers().files);
}

TEST_F(WrittenLayers, TakeTheFolderWholeOrNotAtAll) {
  const std::ptrdiff_t before = folder_.files();
  folder_.put("full/x", "1");
  EXPECT_THAT(error_of([&] { write_layer_directory(model_, folder_.path() / "full"); }),
              HasSubstr("full: got something that is there, expected a new or an empty folder"));
  EXPECT_THAT(error_of([&] { write_layer_directory(model_, folder_.path() / "full/x"); }),
              HasSubstr("got something that is there"));
  write_layer_directory(model_, folder_.path() / "new/model");
  EXPECT_EQ(files_below(folder_.path() / "new/model"), ToyLayers().files);
  fs::remove_all(folder_.path() / "new");
  EXPECT_THAT(error_of([&] { write_layer_directory(model_, folder_.path() / "full/x/y"); }),
              HasSubstr("cannot create"));
  {
    const FileSizeLimit disk_full(40);
    EXPECT_THAT(error_of([&] { write_layer_directory(model_, out()); }), HasSubstr("cannot write"));
  }
  EXPECT_EQ(folder_.files(), before + 1) << "nothing is left beside";
  fs::create_directory(out());
  write_layer_directory(model_, out().string() + "/");
  EXPECT_EQ(files_below(out()), ToyLayers().files);
  EXPECT_EQ(folder_.files(), before + 2);
}

TEST_F(WrittenLayers, FoldersAboveAreMade) {
  write_layer_directory(model_, folder_.path() / "new/copy/model");
  EXPECT_EQ(files_below(folder_.path() / "new/copy/model"), ToyLayers().files);
}

TEST_F(WrittenLayers, OtherNetworksAreRefusedByTheirFirstWrongNode) {
  EXPECT_EQ(error_with("input", [](Node& n) { std::get<Input>(n.op).mean[0] = 0.5F; }),
            "(input): mean and deviation: got others, expected (0.485, 0.456, 0.406) and (0.229, "
            "0.224, 0.225)");
  EXPECT_THAT(error_with("input", [](Node& n) { n.value = {}; }),
              HasSubstr("(input): format: got fp32, expected int8(symmetric,scale="));
  EXPECT_EQ(error_with("layer1_1_conv2", [](Node& n) { n.name = "x"; }),
            "[write_layer_directory] node 'x' (conv2d): name: got 'x', expected 'layer1_1_conv2'");
  EXPECT_EQ(error_with("layer3_0_conv1", [](Node& n) { n.name = "layer2_2_conv1"; }),
            "[write_layer_directory] node 'layer2_2_conv1' (conv2d): name: got 'layer2_2_conv1', "
            "expected 'layer3_0_conv1'");
  EXPECT_EQ(error_with("layer1_0_relu2", [](Node& n) { n.op = Relu6{}; }),
            "(relu6): operation: got relu6, expected relu");
  EXPECT_EQ(error_with("layer1_0_add", [](Node& n) { std::swap(n.inputs[0], n.inputs[1]); }),
            "(add): inputs: got others, expected layer1_0_conv3 and layer1_0_downsample_2");
  EXPECT_EQ(error_of_rescale("quantize1", [](Rescale& r) { r.high = 14; }),
            "(rescale): range: got 0 to 14, expected that of u4, u7, s8, u31 or s32");
  EXPECT_EQ(error_of_rescale("layer1_1_downsample", [](Rescale& r) { r.high = 15; }),
            "(rescale): range: got u4, expected u31 or s32, as the sum has it");
  EXPECT_THAT(error_of_rescale("layer1_0_quantize1", [](Rescale& r) { r.high = kMaxInteger; }),
              HasSubstr("'layer1_0_conv2' (conv2d): input: got u31 of layer1_0_quantize1, expected "
                        "u4, u7 or s8"));
  EXPECT_EQ(error_of_rescale("avgpool", [](Rescale& r) { r.shift = 23; }),
            "(rescale): shift: got 23, expected 24");
  EXPECT_EQ(error_of_rescale("avgpool", [](Rescale& r) { r.high = 15; }),
            "(rescale): rule: got another, expected the range u7 of what enters, one multiplier, "
            "no divisor");
  EXPECT_EQ(error_of_rescale("scale", [](Rescale& r) { r.shift = 25; }),
            "(rescale): shift: got 25, expected 26");
  EXPECT_EQ(error_with("maxpool",
                       [](Node& n) {
                         std::get<MaxPool>(n.op).stride = {2, 3};
                       }),
            "(max_pool): stride: got 2 by 3, expected one number for both");
}

TEST_F(WrittenLayers, NumbersThatTheFilesCannotHoldAreRefused) {
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    const std::vector<Parameter> list = parameters_of(model_.network);
    Model changed{.network = model_.network, .parameters = {}};
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Tensor& from = list[i].name == name ? tensor : model_.parameters[i];
      Tensor copy(from.dtype(), from.shape());
      std::copy_n(from.data(), from.bytes(), copy.data());
      changed.parameters.push_back(std::move(copy));
    }
    return error_of([&] { write_layer_directory(changed, out()); });
  };
  const auto numbers = [](const Shape& shape, std::int32_t value) {
    Tensor tensor(DType::i32, shape);
    for (std::int32_t& x : tensor.as<std::int32_t>()) x = value;
    return tensor;
  };
  EXPECT_EQ(with("quantize1.multiplier", numbers({4}, 65536)),
            "[write_layer_directory] node 'quantize1' (rescale): multiplier: got 65536, expected 0 "
            "to 65535");
  EXPECT_EQ(with("avgpool.multiplier", numbers({1}, 5)),
            "[write_layer_directory] node 'avgpool' (rescale): multiplier: got 5, expected "
            "4194304");
  EXPECT_EQ(with("scale.multiplier", numbers({3}, 5)),
            "[write_layer_directory] node 'scale' (rescale): multiplier: got 5, expected "
            "1821514397");
  EXPECT_EQ(with("layer1_0_conv1.weight", numbers({3, 1, 1, 4}, 8)),
            "[write_layer_directory] node 'layer1_0_conv1' (conv2d): weight: got 8, expected -8 to "
            "7");
  EXPECT_EQ(with("fc.bias", Tensor(DType::f32, {3})),
            "[write_layer_directory] node 'fc' (linear): bias: got f32, expected i16 or i32");
  EXPECT_EQ(with("fc.bias", numbers({3}, 5)), "no error");
}

TEST_F(WrittenLayers, NetworksThatGoOnOrEndEarlyAreRefused) {
  model_.network.nodes.push_back(
      {.name = "answer", .op = ArgMax{}, .inputs = {model_.network.nodes.size() - 1}});
  EXPECT_EQ(error_of([&] { write_layer_directory(model_, out()); }),
            "[write_layer_directory] node 'answer' (arg_max): place: got one after scale, expected "
            "none: the format ends there");
  model_.network.nodes.resize(model_.network.nodes.size() - 2);
  model_.parameters.resize(model_.parameters.size() - 2);
  EXPECT_EQ(error_of([&] { write_layer_directory(model_, out()); }),
            "[write_layer_directory] network 'resnet17-int4': got no node more, expected 'scale' "
            "(rescale)");
  const Model other = counted_model(chain({4, 4, 3}, {Conv2d{.channels = 3}, Relu{}}));
  EXPECT_THAT(error_of([&] { write_layer_directory(other, out()); }),
              HasSubstr("node 'input' (input): mean and deviation"));
}

}  // namespace
}  // namespace nibble::inline foreign
