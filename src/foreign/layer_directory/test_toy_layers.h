// SPDX-License-Identifier: Apache-2.0
// A small layer directory by hand for tests: five blocks, odd channel counts, pictures of 16 by 16.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "core/test_support.h"

namespace nibble::inline foreign {

using LayerFiles = std::map<std::string, std::string>;  // path in the folder: bytes

inline constexpr std::int64_t kToySize = 16;

// Writes the text itself, so that it checks the code that prints layers.
class ToyLayers {
 public:
  LayerFiles files;

  ToyLayers() {
    text("model", {"ResNetQuantized", "compute_mode=s8f32"});
    conv("conv1", "s8", "s8", 4, 3, 3, 2, 1);
    relu("relu");
    quantize("quantize1", "u31u16u4", 4, 16, 4, 71);
    text("maxpool", {"MaxPool2d", "compute_mode=u4u4", "kernel_size=3", "stride=2", "padding=1",
                     "dilation=1", "return_indices=False", "ceil_mode=False"});
    text("layer1", {"Sequential", "children_count=2"});
    block("layer1_0", 4, 3, 5, 1, true, "u4");
    block("layer1_1", 5, 2, 5, 1, false, "u4");
    for (int stage = 2; stage <= 4; ++stage) {
      const std::string name = "layer" + std::to_string(stage);
      text(name, {"Sequential", "children_count=1"});
      block(name + "_0", stage == 2 ? 5 : 7, 3, 7, stage == 2 ? 2 : 1, true,
            stage == 4 ? "u7" : "u4");
    }
    text("avgpool", {"AvgPool2d", "compute_mode=u7u7", "kernel_size=2", "stride=1", "padding=0",
                     "ceil_mode=False", "count_include_pad=True"});
    text("fc", {"Linear", "compute_mode=u7s8s32", "in_features=7", "out_features=3", "bias=s32,1:3",
                "!model/npdata/fc.bias", "weight=s8,2:3 7", "!model/npdata/fc.weight"});
    data("fc.bias", 12);
    data("fc.weight", 21);
    text("scale",
         {"Scale", "compute_mode=s32f32f32", "out_scale=f32,1:3", "!model/npdata/scale.out_scale"});
    const float divisors[] = {2414.5F, 4096, 10401.25F};
    files["npdata/scale.out_scale"] = {reinterpret_cast<const char*>(divisors), sizeof divisors};
  }

  void write_to(const std::filesystem::path& folder) const {
    for (const auto& [path, bytes] : files) {
      std::filesystem::create_directories((folder / path).parent_path());
      std::ofstream(folder / path, std::ios::binary) << bytes;
    }
  }

 private:
  void text(const std::string& name, std::initializer_list<std::string> lines) {
    for (const std::string& line : lines) files[name] += line + "\r\n";
  }

  // Small numbers of both signs, other ones in each file.
  void data(const std::string& name, std::size_t bytes) {
    std::string& out = files["npdata/" + name];
    std::uint32_t state = static_cast<std::uint32_t>(files.size());
    for (std::size_t i = 0; i < bytes; ++i) {
      state = state * 1664525 + 1013904223;
      out += static_cast<char>(state >> 24);
    }
  }

  void conv(const std::string& name, const std::string& in, const std::string& weight, int out,
            int channels, int kernel, int stride, int padding) {
    const auto number = [](int n) { return std::to_string(n); };
    const auto pair = [&](int n) { return "2:" + number(n) + " " + number(n); };
    text(name, {"Conv2d", "compute_mode=" + in + weight + "s32", "in_channels=" + number(channels),
                "out_channels=" + number(out), "kernel_size=" + pair(kernel),
                "stride=" + pair(stride), "padding=" + pair(padding), "dilation=2:1 1", "groups=1",
                "bias=s16,1:" + number(out), "!model/npdata/" + name + ".bias",
                "weight=" + weight + ",4:" + number(out) + " " + number(channels) + " " +
                    number(kernel) + " " + number(kernel),
                "!model/npdata/" + name + ".weight"});
    const std::size_t filters = static_cast<std::size_t>(out);
    const std::size_t elements = filters * static_cast<std::size_t>(channels) *
                                 static_cast<std::size_t>(kernel) *
                                 static_cast<std::size_t>(kernel);
    data(name + ".bias", filters * 2);
    data(name + ".weight", weight == "s4" ? (elements + 1) / 2 : elements);
    if (weight == "s4" && elements % 2 != 0) files["npdata/" + name + ".weight"].back() &= 15;
  }

  void relu(const std::string& name) {
    text(name, {"ReLU", "compute_mode=s32u31", "inplace=True"});
  }

  // Factors 1, 2, … and the largest.
  void quantize(const std::string& name, const std::string& mode, int bits, int shift, int channels,
                int largest) {
    text(name, {"Quantize", "compute_mode=" + mode, "output_bits=" + std::to_string(bits),
                "shift_bits=" + std::to_string(shift), "max_requant=" + std::to_string(largest),
                "requant_factor=u16,4:1 " + std::to_string(channels) + " 1 1",
                "!model/npdata/" + name + ".requant_factor"});
    for (int c = 1; c <= channels; ++c) {
      const int factor = c == channels ? largest : c;
      files["npdata/" + name + ".requant_factor"] +=
          {static_cast<char>(factor & 255), static_cast<char>(factor >> 8)};
    }
  }

  void block(const std::string& name, int in, int middle, int out, int stride, bool has_filter,
             const std::string& code) {
    text(name,
         {"BottleneckQuantized", "stride=" + std::to_string(stride), "downsample_layer=True"});
    conv(name + "_conv1", "u4", "s4", middle, in, 1, 1, 0);
    quantize(name + "_quantize1", "u31u16u4", 4, 16, middle, 900);
    conv(name + "_conv2", "u4", "s4", middle, middle, 3, stride, 1);
    quantize(name + "_quantize2", "u31u16u4", 4, 16, middle, 300);
    conv(name + "_conv3", "u4", "s4", out, middle, 1, 1, 0);
    quantize(name + "_quantize3", "u31u16" + code, code == "u4" ? 4 : 7, 16, out, 65535);
    relu(name + "_relu");
    const std::string shortcut = name + "_downsample";
    if (!has_filter) {
      quantize(shortcut, "u4u16u31", 31, 1, out, 500);
      return;
    }
    text(shortcut, {"Sequential", "children_count=3"});
    conv(shortcut + "_0", "u4", "s4", out, in, 1, stride, 0);
    quantize(shortcut + "_1", "s32u16s8", 7, 16, out, 3641);
    quantize(shortcut + "_2", "s8u16s32", 31, 4, out, 18881);
  }
};

// All files below a folder.
inline LayerFiles files_below(const std::filesystem::path& folder) {
  LayerFiles files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(folder).string()] = {std::istreambuf_iterator<char>(in),
                                                               {}};
  }
  return files;
}

}  // namespace nibble::inline foreign
