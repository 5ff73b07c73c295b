// SPDX-License-Identifier: Apache-2.0
// Walks the nodes as the reader made them, and writes the folder of their layers.
#include <fmt/format.h>

#include "core/whole_folder.h"
#include "foreign/layer_directory/nodes_to_layers.h"
#include "graph/shapes.h"
#include "nibble/foreign/layer_directory.h"

namespace nibble::inline foreign {
namespace {

constexpr int kWrittenStages = 4;
constexpr std::string_view kReluMode = "s32u31";

class WriteWalk {
 public:
  explicit WriteWalk(const Model& model) : layers_(model) {}

  std::vector<WrittenFile> files() {
    std::size_t at = layers_.take_input();
    at = layers_.take_conv("conv1", at);
    at = layers_.take_relu("relu", at);
    add_relu("relu");
    at = layers_.take_quantize("quantize1", at);
    at = layers_.take_max_pool("maxpool", at);
    for (int stage = 1; stage <= kWrittenStages; ++stage) {
      const std::string name = fmt::format("layer{}", stage);
      std::int64_t children = 0;
      do {
        at = block(fmt::format("{}_{}", name, children++), at);
      } while (layers_.is_next(fmt::format("{}_{}_conv1", name, children)));
      layers_.add_layer(name, SequentialLayer{.children = children});
    }
    at = layers_.take_average_pool("avgpool", at);
    at = layers_.take_linear("fc", at);
    layers_.take_scale("scale", at);
    return layers_.finished();
  }

 private:
  void add_relu(const std::string& name) {
    layers_.add_layer(name, ReluLayer{.mode = std::string(kReluMode)});
  }

  std::size_t block(const std::string& name, std::size_t input) {
    const std::string relu = name + "_relu";
    const std::size_t conv1 = layers_.take_conv(name + "_conv1", input);
    std::size_t at = layers_.take_relu(relu + "1", conv1);
    at = layers_.take_quantize(name + "_quantize1", at);
    const std::size_t conv2 = layers_.take_conv(name + "_conv2", at);
    at = layers_.take_relu(relu + "2", conv2);
    at = layers_.take_quantize(name + "_quantize2", at);
    const std::size_t conv3 = layers_.take_conv(name + "_conv3", at);
    const std::size_t shortcut = downsample(name + "_downsample", input);
    at = layers_.take_sum(name + "_add", conv3, shortcut);
    at = layers_.take_relu(relu, at);
    add_relu(relu);
    layers_.add_layer(name, BottleneckLayer{.stride = stride_of({conv1, conv2, conv3})});
    return layers_.take_quantize(name + "_quantize3", at);
  }

  std::int64_t stride_of(std::initializer_list<std::size_t> filters) const {
    std::int64_t whole = 1;
    for (const std::size_t filter : filters) {
      const Extent2 stride = std::get<Conv2d>(layers_.node(filter).op).stride;
      if (stride.y != stride.x || whole * stride.y > kMaxNumber) {
        layers_.fail(filter, "stride", fmt::format("{} by {}", stride.y, stride.x),
                     "a small one, the same both ways");
      }
      whole *= stride.y;
    }
    return whole;
  }

  std::size_t downsample(const std::string& name, std::size_t input) {
    std::size_t at = input;
    std::string last = name;
    if (!layers_.is_next(name)) {
      at = layers_.take_conv(name + "_0", at);
      at = layers_.take_quantize(name + "_1", at);
      last = name + "_2";
      layers_.add_layer(name, SequentialLayer{.children = 3});
    }
    at = layers_.take_quantize(last, at);
    if (is_narrow(layers_.code_of(at))) {
      layers_.fail(at, "range", name_of(layers_.code_of(at)), "u31 or s32, as the sum has it");
    }
    return at;
  }

  NodesToLayers layers_;
};

}  // namespace

void write_layer_directory(const Model& model, const std::filesystem::path& folder) {
  const std::vector<WrittenFile> files = WriteWalk(model).files();
  WholeFolder whole(folder, ExistingFiles::refused);
  for (const WrittenFile& each : files) whole.write(each.path, each.bytes);
  whole.commit();
}

}  // namespace nibble::inline foreign
