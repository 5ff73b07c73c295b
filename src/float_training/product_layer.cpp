// SPDX-License-Identifier: Apache-2.0
// Convolution and linear layers: their parameters, and products on the CPU or on a device.
#include <optional>

#include "float_training/layer.h"
#include "float_training/offloaded_products.h"
#include "float_training/product_passes.h"
#include "float_training/simulated_layer.h"
#include "float_training/weight_quantizer.h"

namespace nibble::inline float_training {
namespace {

bool has_bias(const Op& op) {
  if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->has_bias;
  return std::get<Linear>(op).has_bias;
}

class ProductLayer final : public Layer {
 public:
  explicit ProductLayer(const LayerSettings& settings)
      : here_(make_product_passes(settings)),
        weight_(settings.node),
        has_bias_(has_bias(settings.node.op)) {
    if (settings.place != nullptr) away_.emplace(settings, *settings.place);
  }

  bool keeps_inputs() const override { return true; }

  std::vector<LayerParameter*> parameters() override {
    std::vector<LayerParameter*> list = weight_.parameters();
    if (has_bias_) list.push_back(&bias_);
    return list;
  }

  void forward(const ForwardArguments& arguments) override {
    const ProductWeights weights{weight_.used(), has_bias_ ? &bias_ : nullptr};
    const float* input = arguments.inputs[0];
    if (away_ && away_->has_forward()) {
      away_->forward(arguments.pass, input, weights, arguments.output);
    } else {
      here_->forward(arguments.pass, input, weights, arguments.output);
    }
  }

  void backward(const BackwardArguments& arguments) override {
    const ProductsBack wanted{
        .input = arguments.inputs[0],
        .error = arguments.output_error,
        .weight = weight_.used(),
        .input_error = arguments.input_errors[0],
        .weight_gradient = weight_.gradient().data(),
        .bias_gradient = has_bias_ ? bias_.gradient.as<float>().data() : nullptr};
    const ProductsBack rest = away_ ? away_->ask_back(arguments.pass, wanted) : wanted;
    here_->backward(arguments.pass, rest);
    if (away_) away_->finish_input_error();
    if (rest.weight_gradient != nullptr) weight_.finish_gradient();
  }

  void finish_backward() override {
    if (away_ && away_->finish_gradients()) weight_.finish_gradient();
  }

 private:
  std::unique_ptr<ProductPasses> here_;
  std::optional<OffloadedProducts> away_;  // none: all on the CPU
  WeightQuantizer weight_;
  LayerParameter bias_;
  bool has_bias_;
};

}  // namespace

std::unique_ptr<ProductPasses> make_product_passes(const LayerSettings& settings) {
  if (is<Conv2d>(settings.node.op)) return make_convolution_passes(settings);
  return make_linear_passes(settings);
}

std::unique_ptr<Layer> make_product(const LayerSettings& settings) {
  if (settings.accumulator != nullptr) return make_simulated(settings);
  return std::make_unique<ProductLayer>(settings);
}

}  // namespace nibble::inline float_training
