// SPDX-License-Identifier: Apache-2.0
// Values rounded to multiples of a learned step.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "float_training/layer.h"
#include "float_training/step_rounding.h"

namespace nibble::inline float_training {
namespace {

// The values that enter are kept: what rounding cut off is the gradient of the step. The rounded
// ones are made of them again when the way back needs them.
class FakeQuantizeLayer final : public Layer {
 public:
  explicit FakeQuantizeLayer(const LayerSettings& settings)
      : grid_{std::get<FakeQuantize>(settings.node.op).low,
              std::get<FakeQuantize>(settings.node.op).high},
        elements_(settings.output.elements()) {}

  bool keeps_inputs() const override { return true; }
  bool makes_output_again() const override { return true; }
  bool passes_errors_in_place() const override { return true; }
  std::vector<LayerParameter*> parameters() override { return {&step_}; }

  void forward(const ForwardArguments& arguments) override {
    const auto steps = std::as_const(step_).value.as<float>();
    if (steps.size() > 1) return round_channels(arguments, steps);
    const float step = steps[0];
    for_each_task(arguments.pass.slices.images, [&](std::int64_t image) {
      round_to_steps(image_at(arguments.inputs[0], image), step, grid_,
                     arguments.output + image * elements_);
    });
  }

  // LSQ's elements are the features of one example, so that the step does not learn slower in
  // larger batches.
  void backward(const BackwardArguments& arguments) override {
    float* dx = arguments.input_errors[0];
    if (step_.value.elements() > 1) {
      std::ranges::fill(step_.gradient.as<float>(), 0.0F);
      if (dx != nullptr && dx != arguments.output_error)
        std::copy_n(arguments.output_error, arguments.pass.slices.images * elements_, dx);
      return;
    }
    const float step = step_.value.as<float>()[0];
    std::vector<double> sums(static_cast<std::size_t>(arguments.pass.slices.images));
    for_each_task(arguments.pass.slices.images, [&](std::int64_t image) {
      sums[static_cast<std::size_t>(image)] = pass_back_steps(
          image_at(arguments.inputs[0], image), arguments.output_error + image * elements_, step,
          grid_, dx != nullptr ? dx + image * elements_ : nullptr);
    });
    const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    step_.gradient.as<float>()[0] =
        static_cast<float>(step_gradient_factor(elements_, grid_) * sum);
  }

 private:
  std::span<const float> image_at(const float* values, std::int64_t image) const {
    return {values + image * elements_, static_cast<std::size_t>(elements_)};
  }

  // Units of sums, which have room for every value: gradients pass as they are.
  void round_channels(const ForwardArguments& arguments, std::span<const float> steps) const {
    for_each_task(arguments.pass.slices.images, [&](std::int64_t image) {
      const std::span<const float> values = image_at(arguments.inputs[0], image);
      float* rounded = arguments.output + image * elements_;
      for (std::size_t i = 0; i < values.size(); ++i) {
        rounded[i] = fake_quantized(values[i], steps[i % steps.size()], grid_);
      }
    });
  }

  IntegerGrid grid_;
  std::int64_t elements_;  // an image
  LayerParameter step_;
};

}  // namespace

std::unique_ptr<Layer> make_fake_quantize(const LayerSettings& settings) {
  return std::make_unique<FakeQuantizeLayer>(settings);
}

}  // namespace nibble::inline float_training
