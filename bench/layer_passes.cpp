// SPDX-License-Identifier: Apache-2.0
// Runs the three products of a layer.
#include "bench/layer_passes.h"

#include <algorithm>

#include "integer_step/layer.h"
#include "nibble/core/philox.h"

namespace nibble {
namespace {

SlidingWindow window_of(const Op& op, const Picture& input) {
  if (is<Linear>(op)) return {.kernel = {input.height, input.width}};
  const auto& conv = std::get<Conv2d>(op);
  return {conv.kernel, conv.stride, conv.padding, conv.dilation};
}

WeightShape weight_of(const Op& op, const Picture& input) {
  if (const auto* linear = std::get_if<Linear>(&op))
    return {.out = linear->features, .taps = input.pixels(), .in = input.channels};
  const auto& conv = std::get<Conv2d>(op);
  return {.out = conv.channels,
          .taps = conv.kernel.y * conv.kernel.x,
          .in = input.channels / conv.groups,
          .groups = conv.groups};
}

std::int64_t side_after(std::int64_t side, std::int64_t kernel, std::int64_t stride,
                        std::int64_t padding, std::int64_t dilation) {
  return (side + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

enum class Fill { any, half_zero, rectified };

std::int8_t value_at(std::uint32_t draw, Fill values) {
  const int value = static_cast<int>((draw & 0xFFFF) * 255 >> 16) - 127;
  if (values == Fill::any) return static_cast<std::int8_t>(value);
  if ((draw >> 31) == 0) return 0;
  return static_cast<std::int8_t>(values == Fill::rectified && value < 0 ? -value : value);
}

BlockTensor tensor_in(Tensor& memory, const Picture& picture, std::int64_t images) {
  BlockTensor tensor{.picture = picture, .images = images};
  memory = Tensor(DType::i8, {tensor.bytes()});
  tensor.data = reinterpret_cast<std::int8_t*>(memory.data());
  std::fill_n(tensor.data, tensor.bytes(), std::int8_t{0});
  return tensor;
}

void fill(const BlockTensor& tensor, Fill values, std::uint32_t stream) {
  const BlockPicture& picture = tensor.picture;
  std::uint64_t element = 0;
  for (std::int64_t group = 0; group < tensor.groups(); ++group) {
    for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel) {
      for (std::int64_t image = 0; image < tensor.images_in(group); ++image) {
        std::int8_t* row = tensor.at(group, pixel) + image * picture.stride();
        for (std::int64_t c = 0; c < picture.channels; ++c)
          row[c] = value_at(draw32({1, stream, 0}, element++), values);
      }
    }
  }
}

}  // namespace

std::string_view name_of(LayerPass pass) {
  switch (pass) {
    case LayerPass::forward:
      return "forward";
    case LayerPass::input_error:
      return "input error";
    case LayerPass::weight_gradient:
      return "weight gradient";
  }
  return "";
}

std::vector<WeightedLayer> weighted_layers(const Network& network) {
  const std::vector<Picture> pictures = pictures_of(network);
  const std::vector<std::int64_t> products = multiply_accumulates(network);
  std::vector<bool> has_weights(network.nodes.size());  // at the node or before it
  std::vector<bool> is_pixels(network.nodes.size());
  is_pixels[0] = true;
  std::vector<WeightedLayer> layers;
  for (std::size_t i = 1; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    for (const std::size_t input : node.inputs)
      has_weights[i] = has_weights[i] || has_weights[input];
    is_pixels[i] = is<Flatten>(node.op) && is_pixels[node.inputs[0]];
    if (!is<Conv2d>(node.op) && !is<Linear>(node.op)) continue;
    const Picture& input = pictures[node.inputs[0]];
    layers.push_back({.name = node.name,
                      .is_convolution = is<Conv2d>(node.op),
                      .passes_error = has_weights[i],
                      .reads_pixels = is_pixels[node.inputs[0]],
                      .window = window_of(node.op, input),
                      .weight = weight_of(node.op, input),
                      .input = input,
                      .output = pictures[i],
                      .products = products[i]});
    has_weights[i] = true;
  }
  return layers;
}

WeightedLayer reduced(WeightedLayer layer) {
  if (!layer.is_convolution) return layer;
  const SlidingWindow& window = layer.window;
  const auto reduce = [](std::int64_t side, std::int64_t kernel, std::int64_t stride,
                         std::int64_t dilation) {
    return std::min(side, std::max<std::int64_t>(4, dilation * (kernel - 1) + 1 + stride));
  };
  Picture& in = layer.input;
  in.height = reduce(in.height, window.kernel.y, window.stride.y, window.dilation.y);
  in.width = reduce(in.width, window.kernel.x, window.stride.x, window.dilation.x);
  layer.output.height =
      side_after(in.height, window.kernel.y, window.stride.y, window.padding.y, window.dilation.y);
  layer.output.width =
      side_after(in.width, window.kernel.x, window.stride.x, window.padding.x, window.dilation.x);
  layer.products = layer.output.pixels() * layer.weight.elements();
  return layer;
}

LayerProblem::LayerProblem(const WeightedLayer& layer, std::int64_t images)
    : layer_(layer),
      ahead_(TapMap::forward(layer.window, layer.input, layer.output)),
      back_(TapMap::backward(layer.window, layer.input, layer.output)),
      is_thin_(is_thin(layer.input, layer.weight)),
      unfolded_(is_thin_ ? TapMap::forward({}, layer.output, layer.output) : ahead_),
      unfolded_shape_(is_thin_ ? WeightShape{.out = layer.weight.out,
                                             .taps = 1,
                                             .in = layer.weight.taps * layer.weight.in}
                               : layer.weight),
      forward_weights_(unfolded_shape_, PackedWeights::Direction::forward),
      backward_weights_(layer.weight, PackedWeights::Direction::backward),
      weights_(static_cast<std::size_t>(layer.weight.elements())),
      input_(tensor_in(memory_[0], layer.input, images)),
      output_(tensor_in(memory_[1], layer.output, images)),
      output_error_(tensor_in(memory_[2], layer.output, images)),
      input_error_(tensor_in(memory_[3], layer.input, images)) {
  for (std::size_t i = 0; i < weights_.size(); ++i)
    weights_[i] = value_at(draw32({1, 1, 0}, i), Fill::any);
  fill(input_, layer.reads_pixels ? Fill::any : Fill::rectified, 2);
  fill(output_error_, Fill::half_zero, 3);
  for (const LayerPass pass : {LayerPass::forward, LayerPass::input_error})
    shifts_[static_cast<std::size_t>(pass)] = shift_of(pass);
}

int LayerProblem::shift_of(LayerPass pass) {
  return shift_for(multiply(pass, 0).largest);
}

SumsOutcome LayerProblem::multiply(LayerPass pass, int shift) {
  const bool is_forward = pass == LayerPass::forward;
  PackedWeights& weights = is_forward ? forward_weights_ : backward_weights_;
  weights.pack(weights_);
  if (is_forward && is_thin_)
    patches_ = unfold(layer_.window, layer_.output, input_, pool_, patch_memory_);
  const BlockTensor& source = is_thin_ ? patches_ : input_;
  return GatherProduct{.meetings = is_forward ? unfolded_ : back_,
                       .weights = weights,
                       .source = is_forward ? source : output_error_,
                       .result = is_forward ? output_ : input_error_,
                       .first_image = 0,
                       .pool = &pool_}
      .run({.shift = shift, .random = {}});
}

void LayerProblem::run(LayerPass pass) {
  if (pass != LayerPass::weight_gradient) {
    multiply(pass, shifts_[static_cast<std::size_t>(pass)]);
    return;
  }
  WeightGradient{.meetings = unfolded_,
                 .shape = unfolded_shape_,
                 .input = is_thin_ ? patches_ : input_,
                 .error = output_error_,
                 .all_images = input_.images,
                 .pool = &pool_}
      .run(gradient_);
}

std::vector<std::int64_t> LayerProblem::result(LayerPass pass) const {
  if (pass != LayerPass::weight_gradient) {
    const BlockTensor& tensor = pass == LayerPass::forward ? output_ : input_error_;
    return {tensor.data, tensor.data + tensor.bytes()};
  }
  if (gradient_.is_wide) return gradient_.wide;
  return {gradient_.narrow.begin(), gradient_.narrow.end()};
}

double LayerProblem::share_inside() const {
  const std::int64_t all = layer_.output.pixels() * layer_.window.taps();
  return static_cast<double>(ahead_.size()) / static_cast<double>(all);
}

}  // namespace nibble
