// SPDX-License-Identifier: Apache-2.0
// Batch norm: the sums of a product, or values of 8 bits, by the statistics of the batch of all
// ranks.
#include "integer_step/layer.h"
#include "laws/batch_norm.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {
namespace {

WeightsCase part_case(const IntegerLayerSettings& settings, NormPart part) {
  const bool is_scale = part == NormPart::scale;
  WeightsCase weights = settings.weights(is_scale ? "scale" : "shift", {settings.output.channels},
                                         kNormScaleExponent + kNormFractionBits, is_scale ? 0 : 1);
  weights.is_bias = true;
  weights.norm = part;
  return weights;
}

class BatchNormLayer final : public IntegerLayer {
 public:
  explicit BatchNormLayer(const IntegerLayerSettings& settings)
      : backend_(*settings.place.forward),
        product_(settings.product),
        norm_(backend_.normalization({settings.output})),
        pixels_(settings.output.pixels()),
        value_point_(settings.value_point()),
        error_point_(settings.error_point()),
        scale_(part_case(settings, NormPart::scale), settings.place),
        shift_(part_case(settings, NormPart::shift), settings.place) {
    const LayerPlace& place = settings.place;
    if (place.input_error != &backend_ || place.weight_gradient != &backend_)
      refuse_layer(settings.node, "passes on several devices", "all of a batch norm's on one");
  }

  void forward(const StepContext& step, std::span<const Values> inputs,
               const Values& output) override {
    if (step.rule == ShiftRule::frozen)
      throw Error("integers", "batch norm", "frozen shifts",
                  "the engine, which has its integer form");
    check_size(step);
    norm_->forward(inputs[0], product_ != nullptr ? &product_->on(backend_) : nullptr,
                   scale_.on(backend_), shift_.on(backend_), value_point_.point, output);
  }

  void backward(const IntegerBackward& arguments) override {
    norm_->backward(arguments.inputs[0], arguments.error, error_point_.point,
                    arguments.input_errors[0], scale_.gradient(), shift_.gradient());
  }

  bool keeps_inputs() const override { return true; }
  bool makes_whole_gradients() const override { return true; }
  std::vector<TrainedTensor*> parameters() override { return {&scale_, &shift_}; }
  std::optional<NormalizationRecord> statistics() const override { return norm_->record(); }
  std::vector<PlacedPoint> value_points() const override { return {value_point_}; }
  std::vector<PlacedPoint> error_points() const override { return {error_point_}; }

 private:
  void check_size(const StepContext& step) const {
    if (step.all_images > kNormMostNumbers / pixels_) {
      throw Error("train", "numbers of a channel in a batch",
                  std::to_string(step.all_images) + " times " + std::to_string(pixels_),
                  "fewer than 2^31");
    }
  }

  IntegerBackend& backend_;
  const TrainedTensor* product_;
  std::unique_ptr<NormalizationOp> norm_;
  std::int64_t pixels_;
  PlacedPoint value_point_;
  PlacedPoint error_point_;
  TrainedTensor scale_;
  TrainedTensor shift_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_batch_norm(const IntegerLayerSettings& settings) {
  return std::make_unique<BatchNormLayer>(settings);
}

}  // namespace nibble::inline integer_step
