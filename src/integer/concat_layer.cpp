// SPDX-License-Identifier: Apache-2.0
// Values side by side: aligned exactly to one exponent, rounded once.
#include <cstring>

#include "integer/layer.h"
#include "integer/round_pixels.h"
#include "nibble/core/parallel.h"
#include "nibble/fixed/block_exponent.h"

namespace nibble {
namespace {

class ConcatLayer final : public IntegerLayer {
 public:
  explicit ConcatLayer(const IntegerLayerSettings& settings)
      : value_point_(settings.value_point()) {}

  void forward(const IntegerForward& arguments) override {
    std::vector<int> exponents;
    for (const BlockTensor* each : arguments.inputs) exponents.push_back(each->exponent);
    const Alignment common = align(exponents);
    BlockTensor& output = arguments.output;
    const int shift = value_point_.round(arguments.pass.rule, output, [&](const RoundingJob& job) {
      return round_pixels<std::int64_t>(
          job, output, arguments.pass.first_image,
          [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
            std::int64_t first = 0;
            for (std::size_t k = 0; k < arguments.inputs.size(); ++k) {
              const BlockTensor& input = *arguments.inputs[k];
              const std::int8_t* from = input.at(group, pixel);
              for (std::int64_t r = 0; r < kGroup; ++r) {
                for (std::int64_t c = 0; c < input.picture.channels; ++c) {
                  sums[r * output.picture.stride() + first + c] =
                      from[r * input.picture.stride() + c] * common.factor[k];
                }
              }
              first += input.picture.channels;
            }
          });
    });
    output.exponent = common.exponent + shift;
  }

  void backward(const IntegerBackward& arguments) override {
    const BlockTensor& error = arguments.output_error;
    std::int64_t first = 0;
    for (std::size_t k = 0; k < arguments.input_errors.size(); ++k) {
      BlockTensor* target = arguments.input_errors[k];
      if (target == nullptr) {
        first += arguments.inputs[k]->picture.channels;
        continue;
      }
      target->exponent = error.exponent;
      const std::int64_t rows = error.groups() * error.picture.pixels() * kGroup;
      for (std::int64_t row = 0; row < rows; ++row) {
        std::memcpy(target->data + row * target->picture.stride(),
                    error.data + row * error.picture.stride() + first,
                    static_cast<std::size_t>(target->picture.channels));
      }
      first += target->picture.channels;
    }
  }

  bool keeps_inputs() const override { return true; }  // for their pictures
  int sum_exponent(std::span<const int> inputs) const override { return align(inputs).exponent; }
  RoundingPoint* value_point() override { return &value_point_; }

 private:
  RoundingPoint value_point_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_concat(const IntegerLayerSettings& settings) {
  for (const Picture& each : settings.inputs) {
    if (each.height != settings.output.height || each.width != settings.output.width)
      refuse_layer(settings.node, "flattened pictures", "pictures, or features of layers");
  }
  return std::make_unique<ConcatLayer>(settings);
}

}  // namespace nibble
