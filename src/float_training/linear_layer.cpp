// SPDX-License-Identifier: Apache-2.0
// The fully connected layer.
#include <algorithm>

#include "float_training/layer.h"
#include "float_training/product.h"
#include "float_training/simulated_layer.h"
#include "float_training/slice_sums.h"
#include "float_training/weight_quantizer.h"

namespace nibble::inline float_training {
namespace {

class LinearLayer final : public Layer {
 public:
  explicit LinearLayer(const LayerSettings& settings)
      : in_(settings.inputs[0].elements()),
        out_(settings.output.elements()),
        has_bias_(std::get<Linear>(settings.node.op).has_bias),
        weight_(settings.node) {}

  bool keeps_inputs() const override { return true; }

  std::vector<LayerParameter*> parameters() override {
    std::vector<LayerParameter*> list = weight_.parameters();
    if (has_bias_) list.push_back(&bias_);
    return list;
  }

  void forward(const ForwardArguments& arguments) override {
    const auto& [images, size, is_fast] = arguments.pass.slices;
    if (has_bias_) {
      const auto bias = bias_.value.as<float>();
      for (std::int64_t image = 0; image < images; ++image) {
        std::ranges::copy(bias, arguments.output + image * out_);
      }
    }
    product(images, out_, in_, {arguments.inputs[0], in_},
            {weight_.used().value.as<float>().data(), in_, true}, arguments.output, has_bias_,
            is_fast);
  }

  void backward(const BackwardArguments& arguments) override {
    const Slices& slices = arguments.pass.slices;
    const std::int64_t images = slices.images;
    product(out_, in_, images, {arguments.output_error, out_, true}, {arguments.inputs[0], in_},
            weight_.gradient().data(), false, slices.is_fast);
    weight_.finish_gradient();
    if (has_bias_) {
      sum_channels(arguments.pass, arguments.output_error, images, out_,
                   bias_.gradient.as<float>().data());
    }
    if (arguments.input_errors[0] != nullptr) {
      product(images, in_, out_, {arguments.output_error, out_},
              {weight_.used().value.as<float>().data(), in_}, arguments.input_errors[0], false,
              slices.is_fast);
    }
  }

 private:
  std::int64_t in_;
  std::int64_t out_;
  bool has_bias_;
  WeightQuantizer weight_;
  LayerParameter bias_;
};

}  // namespace

std::unique_ptr<Layer> make_linear(const LayerSettings& settings) {
  if (settings.accumulator != nullptr) return make_simulated(settings);
  return std::make_unique<LinearLayer>(settings);
}

}  // namespace nibble::inline float_training
