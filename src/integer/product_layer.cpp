// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers: one gathers windows, the other has a single window over all.
#include <algorithm>

#include "integer/gather_product.h"
#include "integer/layer.h"
#include "integer/patches.h"
#include "integer/weight_gradient.h"

namespace nibble {
namespace {

// Places by which sums or biases are lifted at most: 2^31·2^28 is far from 2^63.
constexpr int kReach = 28;

struct Geometry {
  SlidingWindow window;
  WeightShape weight;
  bool has_bias;
};

Geometry geometry_of(const IntegerLayerSettings& settings) {
  const Picture& input = settings.inputs[0];
  if (const auto* linear = std::get_if<Linear>(&settings.node.op)) {
    return {{.kernel = {input.height, input.width}},
            {.out = linear->features, .taps = input.pixels(), .in = input.channels},
            linear->has_bias};
  }
  const auto& conv = std::get<Conv2d>(settings.node.op);
  const SlidingWindow window{conv.kernel, conv.stride, conv.padding, conv.dilation};
  return {window,
          {.out = conv.channels,
           .taps = window.taps(),
           .in = input.channels / conv.groups,
           .groups = conv.groups},
          conv.has_bias};
}

Shape shape_of_weight(const IntegerLayerSettings& settings, const WeightShape& weight) {
  if (is<Linear>(settings.node.op)) return {weight.out, weight.taps * weight.in};
  const auto& conv = std::get<Conv2d>(settings.node.op);
  return {weight.out, conv.kernel.y, conv.kernel.x, weight.in};
}

// The same memory with one tap.
WeightShape unfolded(const WeightShape& shape) {
  return {.out = shape.out, .taps = 1, .in = shape.taps * shape.in};
}

class ProductLayer final : public IntegerLayer {
 public:
  ProductLayer(const IntegerLayerSettings& settings, const Geometry& geometry)
      : geometry_(geometry),
        ahead_(Meetings::forward(geometry.window, settings.inputs[0], settings.output)),
        back_(Meetings::backward(geometry.window, settings.inputs[0], settings.output)),
        is_thin_(is_thin(settings.inputs[0], geometry.weight)),
        unfolded_(is_thin_ ? Meetings::forward({}, settings.output, settings.output) : ahead_),
        unfolded_shape_(is_thin_ ? unfolded(geometry.weight) : geometry.weight),
        forward_weights_(unfolded_shape_, PackedWeights::Direction::forward),
        backward_weights_(geometry.weight, PackedWeights::Direction::backward),
        value_point_(settings.value_point()),
        error_point_(settings.error_point()) {
    const WeightShape& shape = geometry.weight;
    weight_.name = settings.node.name + ".weight";
    weight_.mantissas = Tensor(DType::i8, shape_of_weight(settings, shape));
    const std::int64_t taps = is<Linear>(settings.node.op) ? 1 : shape.taps;
    weight_.exponent =
        xavier_exponent(shape.elements() / shape.out, shape.out / shape.groups * taps);
    if (!geometry.has_bias) return;
    bias_.name = settings.node.name + ".bias";
    bias_.mantissas = Tensor(DType::i8, {shape.out});
    bias_.exponent = kBiasExponent;
    bias_.is_bias = true;
    std::ranges::fill(bias_.mantissas.as<std::int8_t>(), std::int8_t{0});
  }

  void forward(const IntegerForward& arguments) override {
    const BlockTensor& input = *arguments.inputs[0];
    if (!is_packed_) {
      forward_weights_.pack(weight_.mantissas.as<std::int8_t>());
      is_packed_ = true;
    }
    if (is_thin_) {
      patches_ = unfold(geometry_.window, arguments.output.picture, input, *arguments.pass.pool,
                        patch_memory_);
    }
    const BlockTensor& source = is_thin_ ? patches_ : input;
    GatherProduct product{.meetings = unfolded_,
                          .weights = forward_weights_,
                          .source = source,
                          .result = arguments.output,
                          .first_image = arguments.pass.first_image,
                          .pool = arguments.pass.pool};
    const int exponents[] = {input.exponent};
    const int exponent = sum_exponent(exponents);
    if (geometry_.has_bias) {
      lift_bias(std::clamp(bias_.exponent - exponent, 0, kReach));
      product.addend = addend_;
      product.lift = input.exponent + weight_.exponent - exponent;
    }
    const int shift = value_point_.round(arguments.pass.rule, arguments.output,
                                         [&](const RoundingJob& job) { return product.run(job); });
    arguments.output.exponent = exponent + shift;
    if (!arguments.pass.is_training) patch_memory_.release();
  }

  void backward(const IntegerBackward& arguments) override {
    const IntegerPass& pass = arguments.pass;
    const BlockTensor& error = arguments.output_error;
    if (BlockTensor* target = arguments.input_errors[0]; target != nullptr) {
      backward_weights_.pack(weight_.mantissas.as<std::int8_t>());
      const GatherProduct product{.meetings = back_,
                                  .weights = backward_weights_,
                                  .source = error,
                                  .result = *target,
                                  .first_image = pass.first_image,
                                  .pool = pass.pool};
      const int shift = error_point_.round(
          pass.rule, *target, [&](const RoundingJob& job) { return product.run(job); });
      target->exponent = error.exponent + weight_.exponent + shift;
    }
    const BlockTensor& source = is_thin_ ? patches_ : *arguments.inputs[0];
    WeightGradient{.meetings = unfolded_,
                   .shape = unfolded_shape_,
                   .input = source,
                   .error = error,
                   .all_images = pass.all_images,
                   .pool = pass.pool}
        .run(gradient_);
    apply(weight_, pass);
    if (geometry_.has_bias) {
      bias_gradient(error, pass.all_images, gradient_);
      apply(bias_, pass);
    }
    patch_memory_.release();
    weights_changed();
  }

  bool keeps_inputs() const override { return true; }
  std::vector<TrainedTensor*> parameters() override {
    if (geometry_.has_bias) return {&weight_, &bias_};
    return {&weight_};
  }
  void weights_changed() override { is_packed_ = false; }
  // The smaller of the two, so that the sum is exact; beyond kReach apart the bias is held there.
  int sum_exponent(std::span<const int> inputs) const override {
    const int product = inputs[0] + weight_.exponent;
    if (!geometry_.has_bias) return product;
    return std::max(std::min(product, bias_.exponent), product - kReach);
  }

  RoundingPoint* value_point() override { return &value_point_; }
  std::vector<RoundingPoint*> error_points() override { return {&error_point_}; }

 private:
  void lift_bias(int places) {
    addend_.clear();
    for (const std::int64_t each : bias_.mantissas.as<std::int8_t>())
      addend_.push_back(each * (std::int64_t{1} << places));
  }

  void apply(TrainedTensor& tensor, const IntegerPass& pass) {
    sum_over_ranks(gradient_, pass.rule.cluster);
    update(tensor, gradient_, pass.update, pass.rule.random);
  }

  Geometry geometry_;
  Meetings ahead_;
  Meetings back_;
  bool is_thin_;
  Meetings unfolded_;  // for the products that read the input: as it is, or unfolded
  WeightShape unfolded_shape_;
  BlockTensor patches_;
  Buffer patch_memory_;
  PackedWeights forward_weights_;
  PackedWeights backward_weights_;
  RoundingPoint value_point_;
  RoundingPoint error_point_;
  TrainedTensor weight_;
  TrainedTensor bias_;
  GradientSums gradient_;
  std::vector<std::int64_t> addend_;
  bool is_packed_ = false;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_product(const IntegerLayerSettings& settings) {
  return std::make_unique<ProductLayer>(settings, geometry_of(settings));
}

}  // namespace nibble
