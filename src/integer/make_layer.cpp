// SPDX-License-Identifier: Apache-2.0
// The integer layer of a node, and the picture of its value.
#include <algorithm>

#include "integer/layer.h"
#include "nibble/core/error.h"

namespace nibble {
namespace {

class FlattenLayer final : public IntegerLayer {
 public:
  void forward(const IntegerForward& arguments) override {
    arguments.output.exponent = arguments.inputs[0]->exponent;
    if (arguments.output.data != arguments.inputs[0]->data)
      std::copy_n(arguments.inputs[0]->data, arguments.output.bytes(), arguments.output.data);
  }
  void backward(const IntegerBackward& arguments) override {
    BlockTensor* error = arguments.input_errors[0];
    if (error == nullptr) return;
    error->exponent = arguments.output_error.exponent;
    if (error->data != arguments.output_error.data)
      std::copy_n(arguments.output_error.data, error->bytes(), error->data);
  }
  bool works_in_place() const override { return true; }
};

bool keeps_picture(const Op& op) {
  return is<Flatten>(op) || is<Relu>(op) || is<Relu6>(op) || is<Dropout>(op) || is<Bias>(op) ||
         is<Add>(op) || is_loss(op);
}

// Operations that look along the axis of features, which a flattened picture has not in memory.
bool counts_features(const Op& op) {
  return is<Bias>(op) || is<Slice>(op) || is<Pad>(op);
}

}  // namespace

RoundingPoint IntegerLayerSettings::value_point() const {
  return {node.name + ".value", value_rounding,
          kIntegerRoundingStreams + static_cast<std::uint32_t>(index) * 8};
}

RoundingPoint IntegerLayerSettings::error_point(std::uint32_t which) const {
  return {node.name + ".error" + (which == 0 ? "" : std::to_string(which)), error_rounding,
          kIntegerRoundingStreams + static_cast<std::uint32_t>(index) * 8 + 1 + which};
}

void sum_over_ranks(GradientSums& gradient, Communicator* cluster) {
  if (cluster == nullptr) return;
  if (gradient.is_wide) {
    cluster->sum(gradient.wide);
  } else {
    cluster->sum(gradient.narrow);
  }
}

void refuse_layer(const Node& node, std::string_view got, std::string_view expected) {
  throw Error("train", "layer " + node.name, got, expected);
}

// A flattened value stays where it is: its pixels one after the other are its features. Pictures
// of few channels that are only ever flattened lie in rows, to waste no filling.
std::vector<Picture> pictures_of(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    if (counts_features(node.op) && shapes[node.inputs[0]].rank() == 1 &&
        pictures[node.inputs[0]].pixels() > 1)
      refuse_layer(node, "a flattened picture", "a picture, or features of layers");
    pictures.push_back(keeps_picture(node.op) ? pictures[node.inputs[0]] : picture_of(shapes[i]));
    if (!is<Input>(node.op)) continue;
    const bool is_flattened = std::ranges::all_of(network.nodes, [&](const Node& other) {
      return std::ranges::find(other.inputs, i) == other.inputs.end() || is<Flatten>(other.op);
    });
    Picture& picture = pictures.back();
    if (is_flattened && picture.pixels() > 1)
      picture = {1, picture.height, picture.width * picture.channels};
  }
  return pictures;
}

std::unique_ptr<IntegerLayer> make_integer_layer(const IntegerLayerSettings& settings) {
  const Op& op = settings.node.op;
  if (is<Conv2d>(op) || is<Linear>(op)) return make_integer_product(settings);
  if (is<Relu>(op) || is<Relu6>(op)) return make_integer_rectifier(settings);
  if (is<MaxPool>(op)) return make_integer_max_pool(settings);
  if (is<AveragePool>(op) || is<GlobalAveragePool>(op)) return make_integer_average(settings);
  if (is<Dropout>(op)) return make_integer_dropout(settings);
  if (is<Add>(op)) return make_integer_add(settings);
  if (is<Bias>(op)) return make_integer_bias(settings);
  if (is<Slice>(op) || is<Pad>(op)) return make_integer_window(settings);
  if (is<Concat>(op)) return make_integer_concat(settings);
  if (is<Flatten>(op)) return std::make_unique<FlattenLayer>();
  refuse_layer(settings.node, name_of(op), "an operation that has an integer form");
}

}  // namespace nibble
