// SPDX-License-Identifier: Apache-2.0
// A number a channel, added; in place.
#include <algorithm>

#include "float_training/layer.h"
#include "float_training/slice_sums.h"

namespace nibble::inline float_training {
namespace {

class BiasLayer final : public Layer {
 public:
  explicit BiasLayer(const LayerSettings& settings)
      : channels_(settings.output[settings.output.rank() - 1]),
        rows_(settings.output.elements() / channels_) {}

  bool works_in_place() const override { return true; }
  std::vector<LayerParameter*> parameters() override { return {&bias_}; }

  void forward(const ForwardArguments& arguments) override {
    const float* bias = bias_.value.as<float>().data();
    for_each_task(arguments.pass.slices.images, [&](std::int64_t image) {
      for (std::int64_t row = image * rows_; row < (image + 1) * rows_; ++row) {
        const float* x = arguments.inputs[0] + row * channels_;
        float* y = arguments.output + row * channels_;
#pragma omp simd  // in place
        for (std::int64_t c = 0; c < channels_; ++c) y[c] = x[c] + bias[c];
      }
    });
  }

  void backward(const BackwardArguments& arguments) override {
    const std::int64_t rows = arguments.pass.slices.images * rows_;
    sum_channels(arguments.pass, arguments.output_error, rows, channels_,
                 bias_.gradient.as<float>().data());
    float* dx = arguments.input_errors[0];
    if (dx == nullptr || dx == arguments.output_error) return;
    std::copy_n(arguments.output_error, rows * channels_, dx);
  }

 private:
  std::int64_t channels_;
  std::int64_t rows_;  // an image
  LayerParameter bias_;
};

}  // namespace

std::unique_ptr<Layer> make_bias(const LayerSettings& settings) {
  return std::make_unique<BiasLayer>(settings);
}

}  // namespace nibble::inline float_training
