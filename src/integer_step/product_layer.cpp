// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers: one gathers windows, the other has a single window over all.
#include <optional>

#include "integer_step/layer.h"
#include "integer_step/trained_tensor.h"
#include "laws/integer_laws.h"

namespace nibble::inline integer_step {
namespace {

ProductCase product_of(const IntegerLayerSettings& settings) {
  const Picture& input = settings.inputs[0];
  if (const auto* linear = std::get_if<Linear>(&settings.node.op)) {
    return {{.kernel = {input.height, input.width}},
            {.out = linear->features, .taps = input.pixels(), .in = input.channels},
            input,
            settings.output};
  }
  const auto& conv = std::get<Conv2d>(settings.node.op);
  const SlidingWindow window{conv.kernel, conv.stride, conv.padding, conv.dilation};
  return {window,
          {.out = conv.channels,
           .taps = window.taps(),
           .in = input.channels / conv.groups,
           .groups = conv.groups},
          input,
          settings.output};
}

Shape shape_of_weight(const IntegerLayerSettings& settings, const WeightShape& weight) {
  if (is<Linear>(settings.node.op)) return {weight.out, weight.taps * weight.in};
  const auto& conv = std::get<Conv2d>(settings.node.op);
  return {weight.out, conv.kernel.y, conv.kernel.x, weight.in};
}

WeightsCase weight_case(const IntegerLayerSettings& settings, const WeightShape& weight) {
  const std::int64_t taps = is<Linear>(settings.node.op) ? 1 : weight.taps;
  const int exponent =
      xavier_exponent(weight.elements() / weight.out, weight.out / weight.groups * taps);
  return settings.weights("weight", shape_of_weight(settings, weight), exponent, 0);
}

bool has_bias(const Op& op) {
  const auto* linear = std::get_if<Linear>(&op);
  return linear != nullptr ? linear->has_bias : std::get<Conv2d>(op).has_bias;
}

class ProductLayer final : public IntegerLayer {
 public:
  ProductLayer(const IntegerLayerSettings& settings, const ProductCase& product)
      : place_(settings.place),
        gives_sums_(settings.gives_sums),
        products_(product, place_),
        value_point_(settings.value_point()),
        error_point_(settings.error_point()),
        weight_(weight_case(settings, product.weight), place_) {
    if (has_bias(settings.node.op))
      bias_.emplace(settings.weights("bias", {product.weight.out}, kBiasExponent, 1), place_);
  }

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    const IntegerBackend& backend = *place_.forward;
    if (gives_sums_)
      return products_.of(backend).forward_sums(inputs[0], weight_.on(backend), line_, output);
    products_.of(backend).forward(inputs[0], weight_.on(backend),
                                  bias_ ? &bias_->on(backend) : nullptr, value_point_.point,
                                  output);
  }

  void backward(const IntegerBackward& arguments) override {
    const Values& target = arguments.input_errors[0];
    const bool has_gradient = !arguments.gradient_error.memory.is_empty();
    const bool has_target = !target.memory.is_empty();
    IntegerBackend& learner = *place_.weight_gradient;
    IntegerBackend& backend = *place_.input_error;
    if (has_gradient && bias_) learner.bias_gradient(arguments.gradient_error, bias_->gradient());
    if (has_gradient && has_target && &learner == &backend) {
      return products_.of(backend).backward(arguments.inputs[0], arguments.error,
                                            weight_.on(backend), error_point_.point, target,
                                            weight_.gradient());
    }
    if (has_gradient) {
      products_.of(learner).weight_gradient(arguments.inputs[0], arguments.gradient_error,
                                            weight_.gradient());
    }
    if (has_target) {
      products_.of(backend).input_error(arguments.error, weight_.on(backend), error_point_.point,
                                        target);
    }
  }

  ValueStorage value_storage() const override {
    return gives_sums_ && line_ == nullptr ? ValueStorage::s16 : ValueStorage::s8;
  }
  void leave_by(const FrozenLine* line) override { line_ = line; }
  const TrainedTensor* weight_of_sums() const override { return gives_sums_ ? &weight_ : nullptr; }
  bool keeps_inputs() const override { return true; }
  std::vector<TrainedTensor*> parameters() override {
    if (bias_) return {&weight_, &*bias_};
    return {&weight_};
  }
  int sum_exponent(std::span<const int> inputs) const override {
    const int product = inputs[0] + weight_.exponent();
    return bias_ ? product_scale(product, bias_->exponent()).exponent : product;
  }
  std::vector<PlacedPoint> value_points() const override {
    if (gives_sums_) return {};
    return {value_point_};
  }
  std::vector<PlacedPoint> error_points() const override { return {error_point_}; }

 private:
  // One on every backend that computes a pass of the layer.
  class Products {
   public:
    Products(const ProductCase& product, const LayerPlace& place) {
      for (IntegerBackend* each : {place.forward, place.input_error, place.weight_gradient}) {
        if (find(*each) == nullptr) made_.emplace_back(each, each->product(product));
      }
    }
    ProductOp& of(const IntegerBackend& backend) const { return *find(backend); }

   private:
    ProductOp* find(const IntegerBackend& backend) const {
      for (const auto& [owner, product] : made_) {
        if (owner == &backend) return product.get();
      }
      return nullptr;
    }
    std::vector<std::pair<IntegerBackend*, std::unique_ptr<ProductOp>>> made_;
  };

  LayerPlace place_;
  bool gives_sums_;
  const FrozenLine* line_ = nullptr;  // of the batch norm that reads the sums, once it is frozen
  Products products_;
  PlacedPoint value_point_;
  PlacedPoint error_point_;
  TrainedTensor weight_;
  std::optional<TrainedTensor> bias_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_product(const IntegerLayerSettings& settings) {
  return std::make_unique<ProductLayer>(settings, product_of(settings));
}

}  // namespace nibble::inline integer_step
