// SPDX-License-Identifier: Apache-2.0
// The sum of values of one shape; each gets the whole error.
#include <cstring>

#include "integer/block_sum.h"
#include "integer/layer.h"
#include "nibble/fixed/block_exponent.h"

namespace nibble {
namespace {

class AddLayer final : public IntegerLayer {
 public:
  explicit AddLayer(const IntegerLayerSettings& settings) : value_point_(settings.value_point()) {}

  void forward(const IntegerForward& arguments) override {
    add_blocks(value_point_, arguments.pass, arguments.inputs, arguments.output);
  }

  void backward(const IntegerBackward& arguments) override {
    const BlockTensor& error = arguments.output_error;
    for (BlockTensor* target : arguments.input_errors) {
      if (target == nullptr) continue;
      target->exponent = error.exponent;
      std::memcpy(target->data, error.data, static_cast<std::size_t>(error.bytes()));
    }
  }

  int sum_exponent(std::span<const int> inputs) const override { return align(inputs).exponent; }
  RoundingPoint* value_point() override { return &value_point_; }

 private:
  RoundingPoint value_point_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_add(const IntegerLayerSettings& settings) {
  for (const Picture& each : settings.inputs) {
    if (each != settings.inputs[0])
      refuse_layer(settings.node, "values that were flattened from other pictures", "one picture");
  }
  return std::make_unique<AddLayer>(settings);
}

}  // namespace nibble
