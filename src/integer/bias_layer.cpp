// SPDX-License-Identifier: Apache-2.0
// A bias alone: aligned exactly with the values, rounded once.
#include <algorithm>
#include <cstring>

#include "integer/layer.h"
#include "integer/round_pixels.h"
#include "nibble/fixed/block_exponent.h"

namespace nibble {
namespace {

class BiasLayer final : public IntegerLayer {
 public:
  explicit BiasLayer(const IntegerLayerSettings& settings) : value_point_(settings.value_point()) {
    bias_.name = settings.node.name + ".bias";
    bias_.mantissas = Tensor(DType::i8, {settings.output.channels});
    bias_.exponent = kBiasExponent;
    bias_.is_bias = true;
    std::ranges::fill(bias_.mantissas.as<std::int8_t>(), std::int8_t{0});
  }

  void forward(const IntegerForward& arguments) override {
    const BlockTensor& input = *arguments.inputs[0];
    BlockTensor& output = arguments.output;
    const int exponents[] = {input.exponent, bias_.exponent};
    const Alignment common = align(exponents);
    const auto bias = bias_.mantissas.as<std::int8_t>();
    const std::int64_t stride = output.picture.stride();
    const int shift = value_point_.round(arguments.pass.rule, output, [&](const RoundingJob& job) {
      return round_pixels<std::int64_t>(
          job, output, arguments.pass.first_image,
          [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
            const std::int8_t* from = input.at(group, pixel);
            for (std::int64_t r = 0; r < kGroup; ++r) {
              for (std::int64_t c = 0; c < output.picture.channels; ++c) {
                sums[r * stride + c] = from[r * stride + c] * common.factor[0] +
                                       bias[static_cast<std::size_t>(c)] * common.factor[1];
              }
            }
          });
    });
    output.exponent = common.exponent + shift;
  }

  void backward(const IntegerBackward& arguments) override {
    const BlockTensor& error = arguments.output_error;
    const IntegerPass& pass = arguments.pass;
    bias_gradient(error, pass.all_images, gradient_);
    sum_over_ranks(gradient_, pass.rule.cluster);
    update(bias_, gradient_, pass.update, pass.rule.random);
    BlockTensor* target = arguments.input_errors[0];
    if (target == nullptr) return;
    target->exponent = error.exponent;
    std::memcpy(target->data, error.data, static_cast<std::size_t>(error.bytes()));
  }

  std::vector<TrainedTensor*> parameters() override { return {&bias_}; }
  int sum_exponent(std::span<const int> inputs) const override {
    const int exponents[] = {inputs[0], bias_.exponent};
    return align(exponents).exponent;
  }
  RoundingPoint* value_point() override { return &value_point_; }

 private:
  TrainedTensor bias_;
  GradientSums gradient_;
  RoundingPoint value_point_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_bias(const IntegerLayerSettings& settings) {
  return std::make_unique<BiasLayer>(settings);
}

}  // namespace nibble
