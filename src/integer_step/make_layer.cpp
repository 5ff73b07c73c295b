// SPDX-License-Identifier: Apache-2.0
// The integer layer of a node, and the picture of its value.
#include <algorithm>

#include "integer_step/layer.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {
namespace {

bool keeps_picture(const Op& op) {
  return is<Flatten>(op) || is<Relu>(op) || is<Relu6>(op) || is<Dropout>(op) || is<Bias>(op) ||
         is<BatchNorm>(op) || is<Add>(op) || is_loss(op);
}

// Operations that look along the axis of features, which a flattened picture has not in memory.
bool counts_features(const Op& op) {
  return is<Bias>(op) || is<BatchNorm>(op) || is<Slice>(op) || is<Pad>(op);
}

}  // namespace

PlacedPoint IntegerLayerSettings::value_point() const {
  const std::string name = node.name + ".value";
  return {
      name, place.forward,
      place.forward->new_point(
          {name, value_rounding, kIntegerRoundingStreams + static_cast<std::uint32_t>(index) * 8})};
}

PlacedPoint IntegerLayerSettings::error_point() const {
  const std::string name = node.name + ".error";
  return {name, place.input_error,
          place.input_error->new_point(
              {name, error_rounding,
               kIntegerRoundingStreams + static_cast<std::uint32_t>(index) * 8 + 1})};
}

WeightsCase IntegerLayerSettings::weights(std::string_view kind, const Shape& shape, int exponent,
                                          std::uint32_t which) const {
  return {.name = node.name + "." + std::string(kind),
          .shape = shape,
          .exponent = exponent,
          .is_bias = kind == "bias",
          .rounding = gradient_rounding,
          .stream = kIntegerUpdateStreams + first_parameter + which,
          .products = output.pixels()};
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
  if (is<MaxPool>(op) || is<AveragePool>(op) || is<GlobalAveragePool>(op))
    return make_integer_pool(settings);
  if (is<BatchNorm>(op)) return make_integer_batch_norm(settings);
  return make_integer_pointwise(settings);
}

}  // namespace nibble::inline integer_step
