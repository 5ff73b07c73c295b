// SPDX-License-Identifier: Apache-2.0
// Tests of layers as text: each comes back as it was, and wrong values are refused by line.
#include "foreign/layer_directory/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foreign/layer_directory/test_toy_layers.h"

namespace nibble::inline foreign {
namespace {

Layer parse(const std::string& text) {
  return parse_layer(parse_record(text, "f"));
}

std::string error_of_layer(const std::string& text) {
  return error_of([&] { (void)parse(text); });
}

TEST(Layer, TextComesBackByteForByte) {
  for (const auto& [path, bytes] : ToyLayers().files) {
    if (path.starts_with("npdata")) continue;
    EXPECT_EQ(to_text(parse(bytes)), bytes) << path;
  }
}

TEST(Layer, HoldsWhatTheTextSays) {
  const auto conv = std::get<ConvLayer>(
      parse("Conv2d\ncompute_mode=s8s8s32\nin_channels=3\nout_channels=64\nkernel_size=2:7 5\n"
            "stride=2:2 1\npadding=2:3 4\ndilation=2:1 6\ngroups=1\nbias=s16,1:64\n!a/b\n"
            "weight=s8,4:64 3 7 5\n!c\n"));
  EXPECT_EQ(conv, (ConvLayer{.mode = "s8s8s32",
                             .in_channels = 3,
                             .out_channels = 64,
                             .kernel = {7, 5},
                             .stride = {2, 1},
                             .padding = {3, 4},
                             .dilation = {1, 6},
                             .groups = 1,
                             .bias = {StoredType::s16, {64}, "a/b"},
                             .weight = {StoredType::s8, {64, 3, 7, 5}, "c"}}));
}

TEST(Layer, KeysAreThoseOfItsType) {
  EXPECT_EQ(error_of_layer("Dropout\n"),
            "[layer_directory] f:1: type: got 'Dropout', expected a known one such as Conv2d");
  EXPECT_EQ(error_of_layer("ReLU\ninplace=True\n"),
            "[layer_directory] f:1: compute_mode: got nothing, expected a mode such as u4s4s32");
  EXPECT_EQ(error_of_layer("ReLU\ncompute_mode=s32u31\ninplace=True\nslope=2\n"),
            "[layer_directory] f:4: slope: got an unknown key, expected the keys of ReLU: "
            "compute_mode, inplace");
  EXPECT_EQ(error_of_layer("Sequential\nchildren_count=3\n!model/x\n"),
            "[layer_directory] f:3: data of children_count: got 'model/x', expected none: it is no "
            "tensor");
  EXPECT_EQ(error_of_layer("Scale\ncompute_mode=s32f32f32\nout_scale=f32,1:3\n"),
            "[layer_directory] f:3: data of out_scale: got nothing, expected a path on the next "
            "line, !…");
}

TEST(Layer, NumbersAreWrittenInOneWay) {
  for (const char* wrong : {"", " 3", "3 ", "+3", "-3", "03", "0x3", "3.0", "2147483648", "1e3",
                            "99999999999999999999", "three"}) {
    EXPECT_EQ(error_of_layer("Sequential\nchildren_count=" + std::string(wrong) + "\n"),
              "[layer_directory] f:2: children_count: got '" + std::string(wrong) +
                  "', expected an integer, 0 to 2147483647");
  }
  EXPECT_EQ(error_of_layer("ReLU\ncompute_mode=s32u31\ninplace=true\n"),
            "[layer_directory] f:3: inplace: got 'true', expected True or False");
}

TEST(Layer, TuplesHaveAsManyNumbersAsTheySay) {
  const std::string conv = ToyLayers().files.at("conv1");
  const std::size_t at = conv.find("2:3 3");
  for (const char* wrong : {"3", "2:3", "2:3 3 3", "1:3", "2:3  3", "2: 3 3", "2:3 3 ", "2:-3 3",
                            "3:3 3", "0:", "2:", ":", "9:1 1 1 1 1 1 1 1 1"}) {
    std::string text = conv;
    text.replace(at, 5, wrong);
    EXPECT_EQ(error_of_layer(text), "[layer_directory] f:5: kernel_size: got '" +
                                        std::string(wrong) +
                                        "', expected two numbers such as 2:3 3");
  }
}

TEST(Layer, TensorsHaveATypeAndASizeThatCanBe) {
  const auto with = [](const std::string& tensor) {
    return error_of_layer("Scale\ncompute_mode=s32f32f32\nout_scale=" + tensor + "\n!x\n");
  };
  EXPECT_EQ(with("s4,2:3 5"), "no error") << "which type fits is not a matter of the text";
  for (const char* wrong : {"f32", "f32,", "f64,1:3", ",1:3", "f32,2:3", "f32;1:3", "F32,1:3"}) {
    EXPECT_EQ(with(wrong), "[layer_directory] f:3: out_scale: got '" + std::string(wrong) +
                               "', expected a tensor such as s4,4:64 64 1 1");
  }
  for (const char* wrong : {"f32,1:0", "f32,3:2147483647 2147483647 2147483647", "f32,2:0 3"}) {
    EXPECT_EQ(with(wrong), "[layer_directory] f:3: out_scale: got '" + std::string(wrong) +
                               "', expected extents of 1 or more, 68719476736 elements at most");
  }
}

}  // namespace
}  // namespace nibble::inline foreign
