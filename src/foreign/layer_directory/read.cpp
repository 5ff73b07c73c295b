// SPDX-License-Identifier: Apache-2.0
// Walks the tree of layers in the order of execution; names are what joins the files.
#include <fmt/format.h>

#include "foreign/layer_directory/layers_to_nodes.h"
#include "graph/shapes.h"
#include "nibble/foreign/layer_directory.h"

namespace nibble::inline foreign {
namespace {

constexpr std::int64_t kMaxBlocks = 1024;  // of one stage; nodes stay below 2^16
constexpr int kStages = 4;

class Walk {
 public:
  explicit Walk(const std::filesystem::path& path) : folder_(path), nodes_(folder_) {}

  Model network(std::int64_t input_size) {
    std::size_t at = nodes_.add_input(input_size);
    at = nodes_.add_conv("conv1", at);
    at = nodes_.add_relu("relu", "relu", at);
    at = nodes_.add_quantize("quantize1", at);
    at = nodes_.add_max_pool("maxpool", at);
    std::int64_t blocks = 0;
    for (int stage = 1; stage <= kStages; ++stage) {
      const std::string name = fmt::format("layer{}", stage);
      const std::int64_t children = children_of(name);
      for (std::int64_t i = 0; i < children; ++i) at = block(fmt::format("{}_{}", name, i), at);
      blocks += children;
    }
    at = nodes_.add_average_pool("avgpool", at);
    at = nodes_.add_linear("fc", at);
    nodes_.add_scale("scale", at);
    return nodes_.finished(fmt::format("resnet{}-int4", 3 * blocks + 2));
  }

 private:
  std::int64_t children_of(const std::string& name) const {
    const auto [record, layer] = folder_.read_as<SequentialLayer>(name);
    if (layer.children < 1 || layer.children > kMaxBlocks) {
      record.fail("children_count", std::to_string(layer.children),
                  fmt::format("1 to {}", kMaxBlocks));
    }
    if (folder_.has(fmt::format("{}_{}", name, layer.children))) {
      record.fail("children_count", std::to_string(layer.children),
                  fmt::format("more: there is {}_{}", name, layer.children));
    }
    return layer.children;
  }

  std::size_t block(const std::string& name, std::size_t input) {
    const auto [record, layer] = folder_.read_as<BottleneckLayer>(name);
    if (!layer.has_downsample) record.fail("downsample_layer", "False", "True");
    const std::string relu = name + "_relu";
    const std::size_t conv1 = nodes_.add_conv(name + "_conv1", input);
    std::size_t at = nodes_.add_relu(relu, relu + "1", conv1);
    at = nodes_.add_quantize(name + "_quantize1", at);
    const std::size_t conv2 = nodes_.add_conv(name + "_conv2", at);
    at = nodes_.add_relu(relu, relu + "2", conv2);
    at = nodes_.add_quantize(name + "_quantize2", at);
    const std::size_t conv3 = nodes_.add_conv(name + "_conv3", at);
    check_stride(record, layer.stride, {conv1, conv2, conv3});
    const std::size_t shortcut = downsample(name + "_downsample", input);
    at = nodes_.add_sum(name + "_add", conv3, shortcut, record);
    at = nodes_.add_relu(relu, relu, at);
    return nodes_.add_quantize(name + "_quantize3", at);
  }

  // The one number of a block is what its filters do together.
  void check_stride(const LayerRecord& record, std::int64_t got,
                    std::initializer_list<std::size_t> filters) const {
    Extent2 whole{1, 1};
    for (const std::size_t filter : filters) {
      const Extent2 stride = std::get<Conv2d>(nodes_.node(filter).op).stride;
      whole = {whole.y * stride.y, whole.x * stride.x};
      if (whole.y > kMaxNumber || whole.x > kMaxNumber) break;  // of three 2^31 would overflow
    }
    if (whole != Extent2{got, got}) {
      record.fail("stride", std::to_string(got),
                  fmt::format("{} by {}, that of its filters", whole.y, whole.x));
    }
  }

  std::size_t downsample(const std::string& name, std::size_t input) {
    const LayerFile file = folder_.read(name);
    std::size_t at = input;
    std::string last = name;
    if (const auto* sequence = std::get_if<SequentialLayer>(&file.layer)) {
      if (sequence->children != 3) {
        file.record.fail("children_count", std::to_string(sequence->children),
                         "3: Conv2d, Quantize, Quantize");
      }
      at = nodes_.add_conv(name + "_0", at);
      at = nodes_.add_quantize(name + "_1", at);
      last = name + "_2";
    } else if (!std::holds_alternative<QuantizeLayer>(file.layer)) {
      file.record.fail("type", file.record.type, "Quantize or Sequential");
    }
    at = nodes_.add_quantize(last, at);
    if (is_narrow(nodes_.code_of(at))) {
      folder_.read(last).record.fail("output_bits",
                                     std::to_string(range_of(nodes_.code_of(at)).bits),
                                     "31, those of the sum that it enters");
    }
    return at;
  }

  LayerFolder folder_;
  LayersToNodes nodes_;
};

}  // namespace

Model read_layer_directory(const std::filesystem::path& folder,
                           const LayerDirectoryOptions& options) {
  return Walk(folder).network(options.input_size);
}

}  // namespace nibble::inline foreign
