// SPDX-License-Identifier: Apache-2.0
// Tests of reading layer directories: the network that comes out, and errors by file and line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foreign/layer_directory/test_toy_layers.h"
#include "nibble/foreign/layer_directory.h"

namespace nibble::inline foreign {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class LayerDirectory : public testing::Test {
 protected:
  // Where the files of the toy are, after a change of them.
  fs::path folder_with(const std::function<void(LayerFiles&)>& change) const {
    ToyLayers toy;
    change(toy.files);
    fs::remove_all(folder_.path() / "model");
    toy.write_to(folder_.path() / "model");
    return folder_.path() / "model";
  }

  std::string error_with(const std::function<void(LayerFiles&)>& change,
                         std::int64_t input_size = kToySize) const {
    const fs::path folder = folder_with(change);
    const std::string error =
        error_of([&] { (void)read_layer_directory(folder, {.input_size = input_size}); });
    const std::string prefix = "[layer_directory] " + folder.string() + "/";
    return error.starts_with(prefix) ? error.substr(prefix.size()) : error;
  }

  std::string error_after(const std::string& file, const std::string& old,
                          const std::string& text) const {
    return error_with([&](LayerFiles& files) {
      std::string& content = files.at(file);
      ASSERT_NE(content.find(old), std::string::npos) << old;
      content.replace(content.find(old), old.size(), text);
    });
  }

  Model toy() const {
    return read_layer_directory(folder_with([](LayerFiles&) {}), {.input_size = kToySize});
  }

  const Tensor& parameter(const Model& model, std::string_view name) const {
    const std::vector<Parameter> list = parameters_of(model.network);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == name) return model.parameters[i];
    }
    throw Error("no parameter " + std::string(name));
  }

  const TemporaryFolder folder_;
};

TEST_F(LayerDirectory, NodesAreInTheOrderOfExecution) {
  const Model model = toy();
  std::string names;
  for (const Node& node : model.network.nodes) {
    names += node.name + " ";
    for (const std::size_t input : node.inputs) names += model.network.nodes[input].name + " ";
    names += "| ";
  }
  EXPECT_THAT(names,
              StartsWith("input | conv1 input | relu conv1 | quantize1 relu | maxpool quantize1 | "
                         "layer1_0_conv1 maxpool | layer1_0_relu1 layer1_0_conv1 | "
                         "layer1_0_quantize1 layer1_0_relu1 | layer1_0_conv2 layer1_0_quantize1 | "
                         "layer1_0_relu2 layer1_0_conv2 | layer1_0_quantize2 layer1_0_relu2 | "
                         "layer1_0_conv3 layer1_0_quantize2 | layer1_0_downsample_0 maxpool | "
                         "layer1_0_downsample_1 layer1_0_downsample_0 | "
                         "layer1_0_downsample_2 layer1_0_downsample_1 | "
                         "layer1_0_add layer1_0_conv3 layer1_0_downsample_2 | "
                         "layer1_0_relu layer1_0_add | layer1_0_quantize3 layer1_0_relu | "
                         "layer1_1_conv1 layer1_0_quantize3 | "));
  EXPECT_THAT(names, HasSubstr("layer1_1_downsample layer1_0_quantize3 | "
                               "layer1_1_add layer1_1_conv3 layer1_1_downsample | "));
  EXPECT_THAT(names, HasSubstr("| avgpool_sum layer4_0_quantize3 | avgpool avgpool_sum | "
                               "flatten avgpool | fc flatten | scale fc | "));
  EXPECT_EQ(model.network.name, "resnet17-int4");
  EXPECT_EQ(infer_shapes(model.network).back(), Shape{3});
}

TEST_F(LayerDirectory, TheInputIsScaledToEightBits) {
  const Model model = toy();
  const Node& input = model.network.nodes[0];
  const auto& op = std::get<Input>(input.op);
  EXPECT_EQ(op.shape, (Shape{16, 16, 3}));
  EXPECT_EQ(op.mean, (std::vector<float>{0.485F, 0.456F, 0.406F}));
  EXPECT_EQ(op.deviation, (std::vector<float>{0.229F, 0.224F, 0.225F}));
  EXPECT_EQ(input.value.format, parse_format("int8(symmetric,scale=0.020787401)"));
}

TEST_F(LayerDirectory, QuantizeBecomesRescale) {
  const Model model = toy();
  const auto rescale = [&](std::string_view name) {
    return std::get<Rescale>(model.network.nodes[find_node(model.network, name)].op);
  };
  const auto format = [&](std::string_view name) {
    return to_string(model.network.nodes[find_node(model.network, name)].value.format);
  };
  EXPECT_EQ(rescale("quantize1"), (Rescale{16, 0, 15, true, false}));
  EXPECT_EQ(rescale("layer4_0_quantize3"), (Rescale{16, 0, 127, true, false}));
  EXPECT_EQ(rescale("layer1_0_downsample_1"), (Rescale{16, -127, 127, true, false}));
  EXPECT_EQ(rescale("layer1_0_downsample_2"), (Rescale{4, -kMaxInteger, kMaxInteger, true, false}));
  EXPECT_EQ(rescale("layer1_1_downsample"), (Rescale{1, 0, kMaxInteger, true, false}));
  EXPECT_EQ(rescale("avgpool"), (Rescale{24, 0, 127, false, false}));
  EXPECT_EQ(rescale("scale"), (Rescale{26, -kMaxInteger, kMaxInteger, true, true}));
  EXPECT_EQ(format("quantize1"), "uint4");
  EXPECT_EQ(format("layer4_0_quantize3"), "uint7");
  EXPECT_EQ(format("layer1_0_downsample_1"), "int8(symmetric)");
  EXPECT_EQ(format("layer1_0_downsample_2"), "fp32");
  const auto factors = parameter(model, "quantize1.multiplier").as<std::uint16_t>();
  EXPECT_THAT(factors, testing::ElementsAre(1, 2, 3, 71));
  EXPECT_EQ(parameter(model, "avgpool.multiplier").as<std::int32_t>()[0], 1 << 22);
  EXPECT_EQ(parameter(model, "scale.divisor").as<float>()[2], 10401.25F);
  EXPECT_EQ(parameter(model, "scale.multiplier").as<std::int32_t>()[1], 1 << 30);
}

TEST_F(LayerDirectory, WeightsArePutIntoOurOrder) {
  const Model model = toy();
  const LayerFiles files = ToyLayers().files;
  const std::string& eight = files.at("npdata/conv1.weight");
  const auto ours = parameter(model, "conv1.weight").as<std::int8_t>();
  const std::string& four = files.at("npdata/layer1_0_conv2.weight");
  const Tensor& packed = parameter(model, "layer1_0_conv2.weight");
  ASSERT_EQ(packed.shape(), Shape{41});
  const auto half = [](std::uint8_t byte, std::size_t i) { return byte >> (i % 2 * 4) & 15; };
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t y = 0; y < 3; ++y) {
      for (std::size_t x = 0; x < 3; ++x) {
        for (std::size_t i = 0; i < 3; ++i) {
          const std::size_t theirs = ((o * 3 + i) * 3 + y) * 3 + x;
          const std::size_t here = ((o * 3 + y) * 3 + x) * 3 + i;
          ASSERT_EQ(ours[here], static_cast<std::int8_t>(eight[theirs]));
          ASSERT_EQ(half(packed.as<std::uint8_t>()[here / 2], here),
                    half(static_cast<std::uint8_t>(four[theirs / 2]), theirs));
        }
      }
    }
  }
  EXPECT_EQ(parameter(model, "conv1.bias").dtype(), DType::i16);
  EXPECT_EQ(parameter(model, "fc.bias").dtype(), DType::i32);
  const Network& network = model.network;
  EXPECT_EQ(network.nodes[find_node(network, "fc")].weight.format, parse_format("int8"));
  EXPECT_EQ(network.nodes[find_node(network, "layer1_0_conv2")].weight.format,
            parse_format("int4"));
}

TEST_F(LayerDirectory, LayersAreCheckedAgainstWhatEnters) {
  const auto error = [&](auto... args) { return error_after(args...); };
  EXPECT_EQ(error("conv1", "in_channels=3", "in_channels=4"),
            "conv1:3: in_channels: got 4, expected 3, which enter");
  EXPECT_EQ(error("conv1", "s8s8s32", "u4s8s32"),
            "conv1:2: compute_mode: got 'u4s8s32', expected 's8s8s32'");
  EXPECT_EQ(error("conv1", "out_channels=4", "out_channels=5"),
            "conv1:12: weight: got s8,4:4 3 3 3, expected s4,4:5 3 3 3 or s8,4:5 3 3 3");
  EXPECT_EQ(error("conv1", "s16,1:4", "s16,1:5"),
            "conv1:10: bias: got s16,1:5, expected s16,1:4 or s32,1:4");
  EXPECT_EQ(error("conv1", "groups=1", "groups=2"),
            "conv1:9: groups: got 2, expected a divisor of in_channels");
  EXPECT_EQ(error("conv1", "stride=2:2 2", "stride=2:0 2"),
            "conv1:1: node 'conv1' (conv2d): stride y: got 0, expected 1 to 2147483647");
  EXPECT_EQ(error("relu", "s32u31", "s32u4"),
            "relu:2: compute_mode: got 's32u4', expected "
            "'s32u31'");
  EXPECT_EQ(error("relu", "True", "False"), "relu:3: inplace: got False, expected True");
  EXPECT_EQ(error("quantize1", "u31u16u4", "u31u16u5"),
            "quantize1:2: compute_mode: got 'u31u16u5', expected u31u16u4, u31u16u7, u31u16s8, "
            "u31u16u31 or u31u16s32");
  EXPECT_THAT(error("quantize1", "u31u16u4", "u4"), HasSubstr("got 'u4', expected u31u16u4"));
  EXPECT_EQ(error("quantize1", "output_bits=4", "output_bits=5"),
            "quantize1:3: output_bits: got 5, expected 4 of u4");
  EXPECT_EQ(error("quantize1", "shift_bits=16", "shift_bits=63"),
            "quantize1:4: shift_bits: got 63, expected 0 to 62");
  EXPECT_EQ(error("quantize1", "max_requant=71", "max_requant=70"),
            "quantize1:5: max_requant: got 70, expected 71, the largest of its data");
  EXPECT_EQ(error("quantize1", "u16,4:1 4 1 1", "u16,1:4"),
            "quantize1:6: requant_factor: got u16,1:4, expected u16,4:1 4 1 1");
  EXPECT_EQ(error("maxpool", "dilation=1", "dilation=2"), "maxpool:6: dilation: got 2, expected 1");
  EXPECT_EQ(error("maxpool", "ceil_mode=False", "ceil_mode=True"),
            "maxpool:8: ceil_mode: got True, expected False");
  EXPECT_EQ(error("avgpool", "count_include_pad=True", "count_include_pad=False"),
            "avgpool:7: count_include_pad: got False, expected True");
  EXPECT_EQ(error("avgpool", "kernel_size=2", "kernel_size=1"),
            "avgpool:3: kernel_size: got 1, expected all of the 2 by 2 that enter with this input "
            "size");
  EXPECT_EQ(error("fc", "in_features=7", "in_features=8"),
            "fc:3: in_features: got 8, expected 7, which enter");
  EXPECT_EQ(error("scale", "f32,1:3", "s32,1:3"),
            "scale:3: out_scale: got s32,1:3, expected f32,1:3");
  EXPECT_EQ(error("model", "s8f32", "u8f32"),
            "model:2: compute_mode: got 'u8f32', expected 's8f32'");
  EXPECT_EQ(error_with([](LayerFiles&) {}, 17),
            "avgpool:3: kernel_size: got 2, expected all of the 3 by 3 that enter with this input "
            "size");
  EXPECT_THAT(error_with([](LayerFiles&) {}, 0), HasSubstr("input size: got 0, expected 1 to "));
}

TEST_F(LayerDirectory, BlocksAreChecked) {
  const auto error = [&](auto... args) { return error_after(args...); };
  EXPECT_EQ(error("layer1", "Sequential\r\nchildren_count=2",
                  "ReLU\r\ncompute_mode=s32u31\r\n"
                  "inplace=True"),
            "layer1:1: type: got ReLU, expected Sequential");
  EXPECT_EQ(error("layer1", "=2", "=0"), "layer1:2: children_count: got 0, expected 1 to 1024");
  EXPECT_EQ(error("layer1", "=2", "=2147483647"),
            "layer1:2: children_count: got 2147483647, expected 1 to 1024");
  EXPECT_EQ(error("layer1", "=2", "=1"),
            "layer1:2: children_count: got 1, expected more: there is layer1_1");
  EXPECT_THAT(error("layer1", "=2", "=3"), HasSubstr("/model/layer1_2: No such file or directory"));
  EXPECT_EQ(error("layer2_0", "stride=2", "stride=1"),
            "layer2_0:2: stride: got 1, expected 2 by 2, that of its filters");
  EXPECT_EQ(error("layer2_0", "downsample_layer=True", "downsample_layer=False"),
            "layer2_0:3: downsample_layer: got False, expected True");
  EXPECT_EQ(error("layer2_0_downsample", "=3", "=2"),
            "layer2_0_downsample:2: children_count: got 2, expected 3: Conv2d, Quantize, Quantize");
  EXPECT_EQ(error_with([](LayerFiles& f) { f["layer1_1_downsample"] = f["relu"]; }),
            "layer1_1_downsample:1: type: got ReLU, expected Quantize or Sequential");
  EXPECT_EQ(error("layer1_1_downsample", "u4u16u31\r\noutput_bits=31", "u4u16u4\r\noutput_bits=4"),
            "layer1_1_downsample:3: output_bits: got 4, expected 31, those of the sum that it "
            "enters");
  EXPECT_EQ(error("layer2_0_downsample_0", "stride=2:2 2", "stride=2:1 1"),
            "layer2_0:1: node 'layer2_0_add' (add): input 2: got (4, 4, 7), expected (2, 2, 7) as "
            "the first");
  EXPECT_EQ(error("layer1_0_quantize1", "u31u16u4\r\noutput_bits=4", "u31u16u31\r\noutput_bits=31"),
            "layer1_0_conv2:2: compute_mode: got 'u4s4s32', expected values of 8 bits or less to "
            "enter, not u31");
  EXPECT_THAT(error("layer1_0_conv1", "stride=2:1 1", "stride=2:65536 65536"),
              HasSubstr("layer1_0:2: stride: got 1, expected 65536 by 65536"));
}

TEST_F(LayerDirectory, DataFilesHaveTheSizeOfTheirTensors) {
  EXPECT_EQ(error_with([](LayerFiles& f) { f["npdata/conv1.bias"] += 'x'; }),
            "conv1:11: data of bias: got 9 bytes, expected 8 bytes");
  EXPECT_EQ(error_with([](LayerFiles& f) { f["npdata/layer1_0_conv2.weight"].pop_back(); }),
            "layer1_0_conv2:13: data of weight: got 40 bytes, expected 41 bytes");
  EXPECT_EQ(error_with([](LayerFiles& f) { f.erase("npdata/fc.weight"); }),
            "fc:8: data of weight: got 'model/npdata/fc.weight', which does not exist, expected a "
            "file");
  EXPECT_EQ(error_with([](LayerFiles& f) { f["npdata/layer1_0_conv2.weight"].back() |= 16; }),
            "layer1_0_conv2:13: data of weight: got something in the last half of a byte, expected "
            "0: it has no weight");
  EXPECT_EQ(error_with([](LayerFiles& f) { f["npdata/scale.out_scale"] = std::string(12, '\0'); }),
            "scale:4: data of out_scale: got a number that is not, expected numbers above 2^-15 "
            "and below 2^43");
}

TEST_F(LayerDirectory, DataStaysInsideTheFolder) {
  const auto error = [&](const std::string& path) {
    return error_after("fc", "!model/npdata/fc.weight", "!" + path);
  };
  folder_.put("secret", std::string(21, 'x'));
  for (const char* path :
       {"../secret", "model/../../secret", "/etc/passwd", "./x", "model/npdata/"}) {
    EXPECT_EQ(error(path), "fc:8: data of weight: got '" + std::string(path) +
                               "', expected a path inside the layer directory");
  }
  EXPECT_EQ(error("model/npdata"),
            "fc:8: data of weight: got 'model/npdata', which is no regular file, expected a file");
  EXPECT_EQ(error("secret"),
            "fc:8: data of weight: got 'secret', which does not exist, expected a "
            "file");
  EXPECT_EQ(error_after("quantize1", "quantize1.requant_factor", "conv1.bias"),
            "quantize1:7: data of requant_factor: got 'model/npdata/conv1.bias', which another "
            "tensor has, expected its own file");
  const fs::path folder = folder_with([](LayerFiles& f) { f.erase("npdata/fc.weight"); });
  fs::create_symlink(folder_.path() / "secret", folder / "npdata/fc.weight");
  EXPECT_THAT(error_of([&] { (void)read_layer_directory(folder, {.input_size = kToySize}); }),
              HasSubstr("which leads out of it"));
}

TEST_F(LayerDirectory, MayBeRenamedOrHavePathsOfItsOwn) {
  const std::uint64_t hash = weights_hash(toy());
  fs::rename(folder_.path() / "model", folder_.path() / "other");
  EXPECT_EQ(weights_hash(read_layer_directory(folder_.path() / "other", {.input_size = kToySize})),
            hash);
  EXPECT_EQ(error_after("fc", "!model/npdata/fc.weight", "!npdata/fc.weight"), "no error");
}

TEST_F(LayerDirectory, OtherFoldersAreRefused) {
  (void)folder_with([](LayerFiles&) {});
  EXPECT_TRUE(is_layer_directory(folder_.path() / "model"));
  EXPECT_FALSE(is_layer_directory(folder_.path()));
  const auto error = [](const fs::path& path) {
    return error_of([&] { (void)read_layer_directory(path); });
  };
  EXPECT_EQ(error(folder_.path()), "[layer_directory] " + folder_.path().string() +
                                       ": got the folder around a layer directory, expected " +
                                       (folder_.path() / "model").string());
  EXPECT_THAT(error(folder_.path() / "model/npdata"),
              HasSubstr("got no file 'model' in it, expected a layer directory"));
  EXPECT_THAT(error(folder_.path() / "none"), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace nibble::inline foreign
