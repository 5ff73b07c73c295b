// SPDX-License-Identifier: Apache-2.0
// The products of a fully connected layer.
#include <algorithm>

#include "float_training/product.h"
#include "float_training/product_passes.h"
#include "float_training/slice_sums.h"

namespace nibble::inline float_training {
namespace {

class LinearPasses final : public ProductPasses {
 public:
  explicit LinearPasses(const LayerSettings& settings)
      : in_(settings.inputs[0].elements()), out_(settings.output.elements()) {}

  void forward(const Pass& pass, const float* input, const ProductWeights& weights,
               float* output) override {
    const auto& [images, size, is_fast] = pass.slices;
    if (weights.bias != nullptr) {
      const auto bias = weights.bias->value.as<float>();
      for (std::int64_t image = 0; image < images; ++image)
        std::ranges::copy(bias, output + image * out_);
    }
    product(images, out_, in_, {input, in_}, {weights.weight.value.as<float>().data(), in_, true},
            output, weights.bias != nullptr, is_fast);
  }

  void backward(const Pass& pass, const ProductsBack& wanted) override {
    const std::int64_t images = pass.slices.images;
    const bool is_fast = pass.slices.is_fast;
    if (wanted.weight_gradient != nullptr) {
      product(out_, in_, images, {wanted.error, out_, true}, {wanted.input, in_},
              wanted.weight_gradient, false, is_fast);
      if (wanted.bias_gradient != nullptr)
        sum_channels(pass, wanted.error, images, out_, wanted.bias_gradient);
    }
    if (wanted.input_error != nullptr) {
      product(images, in_, out_, {wanted.error, out_},
              {wanted.weight.value.as<float>().data(), in_}, wanted.input_error, false, is_fast);
    }
  }

 private:
  std::int64_t in_;
  std::int64_t out_;
};

}  // namespace

std::unique_ptr<ProductPasses> make_linear_passes(const LayerSettings& settings) {
  return std::make_unique<LinearPasses>(settings);
}

}  // namespace nibble::inline float_training
