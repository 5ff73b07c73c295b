// SPDX-License-Identifier: Apache-2.0
// The mean over all pixels of a picture.
#include <algorithm>

#include "float_training/layer.h"

namespace nibble::inline float_training {
namespace {

class GlobalAverageLayer final : public Layer {
 public:
  explicit GlobalAverageLayer(const LayerSettings& settings)
      : pixels_(settings.inputs[0][0] * settings.inputs[0][1]), channels_(settings.inputs[0][2]) {}

  void forward(const ForwardArguments& arguments) override {
    const float share = 1.0F / static_cast<float>(pixels_);
    for_each_task(arguments.pass.slices.images, [&](std::int64_t image) {
      const float* x = arguments.inputs[0] + image * pixels_ * channels_;
      float* y = arguments.output + image * channels_;
      std::fill_n(y, channels_, 0.0F);
      for (std::int64_t pixel = 0; pixel < pixels_; ++pixel, x += channels_) {
        for (std::int64_t c = 0; c < channels_; ++c) y[c] += x[c];
      }
      for (std::int64_t c = 0; c < channels_; ++c) y[c] *= share;
    });
  }

  void backward(const BackwardArguments& arguments) override {
    if (arguments.input_errors[0] == nullptr) return;
    const float share = 1.0F / static_cast<float>(pixels_);
    for_each_task(arguments.pass.slices.images, [&](std::int64_t image) {
      const float* dy = arguments.output_error + image * channels_;
      float* dx = arguments.input_errors[0] + image * pixels_ * channels_;
      for (std::int64_t pixel = 0; pixel < pixels_; ++pixel, dx += channels_) {
        for (std::int64_t c = 0; c < channels_; ++c) dx[c] = dy[c] * share;
      }
    });
  }

 private:
  std::int64_t pixels_;
  std::int64_t channels_;
};

}  // namespace

std::unique_ptr<Layer> make_global_average_pool(const LayerSettings& settings) {
  return std::make_unique<GlobalAverageLayer>(settings);
}

}  // namespace nibble::inline float_training
