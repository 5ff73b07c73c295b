// SPDX-License-Identifier: Apache-2.0
// Batch norm: the sums of a product, or values of 8 bits, by the statistics of the batch of all
// ranks.
#include <algorithm>
#include <bit>

#include "graph/batch_norm.h"
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
  weights.products = 0;
  return weights;
}

int share_of(const IntegerLayerSettings& settings) {
  if (settings.statistics == FrozenStatistics::calibrated) return 0;
  return norm_share(std::bit_cast<std::uint32_t>(std::get<BatchNorm>(settings.node.op).momentum));
}

class BatchNormLayer final : public IntegerLayer {
 public:
  explicit BatchNormLayer(const IntegerLayerSettings& settings)
      : backend_(*settings.place.forward),
        product_(settings.product),
        running_share_(share_of(settings)),
        norm_(backend_.normalization({settings.output, running_share_})),
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
    if (step.rule == ShiftRule::frozen) return forward_frozen(inputs, output);
    if (line_.bias != nullptr)
      throw Error("integers", "frozen batch norm", "shifts of a batch", "frozen ones");
    check_size(step);
    norm_->forward(inputs[0], product_ != nullptr ? &product_->on(backend_) : nullptr,
                   scale_.on(backend_), shift_.on(backend_), value_point_.point, output);
  }

  void backward(const IntegerBackward& arguments) override {
    norm_->backward(arguments.inputs[0], arguments.error, error_point_.point,
                    arguments.input_errors[0], scale_.gradient(), shift_.gradient());
  }

  const FrozenLine* freeze(const NormalizationRecord& record, int value_exponent) override {
    const Tensor scale = tensor_of<std::int32_t>(DType::i32, scale_.read().fine);
    const Tensor shift = tensor_of<std::int32_t>(DType::i32, shift_.read().fine);
    const Tensor mean = tensor_of<std::int64_t>(DType::i64, record.means);
    const Tensor variance = tensor_of<std::int64_t>(DType::i64, record.variances);
    const NormTensors tensors{scale, shift, mean, variance};
    if (const std::string fault = fault_of(tensors); !fault.empty())
      throw Error("integers", "batch norm " + scale_.name(), fault, "numbers of integer training");
    Tensor weight = product_ != nullptr ? copy_of(product_->read().mantissas.view())
                                        : Tensor(DType::i8, scale.shape());
    const FrozenNorm frozen = frozen_norm(tensors, weight, product_ != nullptr, value_exponent);
    if (frozen.shift < 0)
      throw Error("integers", "shift of " + scale_.name(), std::to_string(frozen.shift),
                  "0 or more: its exponent does not fit its statistics");
    const auto put = [&](std::unique_ptr<Weights>& to, const Tensor& numbers) {
      WeightsState state{.mantissas = Tensor(DType::i8, scale.shape())};
      std::ranges::fill(state.mantissas.as<std::int8_t>(), std::int8_t{0});
      for (std::size_t c = 0; c < scale_.size(); ++c) {
        const std::int32_t number = numbers.as<std::int32_t>()[c];
        state.fine.push_back(scale.as<std::int32_t>()[c] < 0 ? -number : number);
      }
      to = backend_.weights({.name = scale_.name(), .shape = scale.shape()});
      to->write(state);
    };
    put(bias_, frozen.bias);
    put(multiplier_, frozen.multipliers);
    line_ = {bias_.get(), multiplier_.get(), frozen.shift, value_exponent};
    return &line_;
  }

  void thaw() override { line_ = {}; }

  bool keeps_inputs() const override { return true; }
  bool makes_whole_gradients() const override { return true; }
  std::vector<TrainedTensor*> parameters() override { return {&scale_, &shift_}; }
  std::optional<NormalizationRecord> statistics() const override { return norm_->record(); }
  NormalizationOp* keeper_of_statistics() const override {
    return running_share_ > 0 ? norm_.get() : nullptr;
  }
  std::vector<PlacedPoint> value_points() const override { return {value_point_}; }
  std::vector<PlacedPoint> error_points() const override { return {error_point_}; }

 private:
  template <class Number>
  static Tensor tensor_of(DType type, std::span<const Number> numbers) {
    Tensor tensor(type, {static_cast<std::int64_t>(numbers.size())});
    std::ranges::copy(numbers, tensor.as<Number>().begin());
    return tensor;
  }

  // The product has done it, where there is one.
  void forward_frozen(std::span<const Values> inputs, const Values& output) {
    if (line_.bias == nullptr)
      throw Error("integers", "batch norm", "frozen shifts", "statistics that freeze it");
    if (product_ != nullptr) return backend_.pointwise(CopyValues{}, inputs, output);
    norm_->forward_frozen(inputs[0], line_, output);
  }

  void check_size(const StepContext& step) const {
    if (step.all_images > kNormMostNumbers / pixels_) {
      throw Error("train", "numbers of a channel in a batch",
                  std::to_string(step.all_images) + " times " + std::to_string(pixels_),
                  "fewer than 2^31");
    }
  }

  IntegerBackend& backend_;
  const TrainedTensor* product_;
  int running_share_;
  std::unique_ptr<NormalizationOp> norm_;
  std::int64_t pixels_;
  PlacedPoint value_point_;
  PlacedPoint error_point_;
  TrainedTensor scale_;
  TrainedTensor shift_;
  std::unique_ptr<Weights> bias_;  // of the line
  std::unique_ptr<Weights> multiplier_;
  FrozenLine line_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_batch_norm(const IntegerLayerSettings& settings) {
  return std::make_unique<BatchNormLayer>(settings);
}

}  // namespace nibble::inline integer_step
