// SPDX-License-Identifier: Apache-2.0
// Layers that do something to every number by itself: rectifiers, dropout, sums, boxes, copies.
#include <utility>

#include "integer_step/layer.h"
#include "integer_step/trained_tensor.h"
#include "laws/block_exponent.h"
#include "laws/integer_laws.h"

namespace nibble::inline integer_step {
namespace {

class PointLayer : public IntegerLayer {
 public:
  explicit PointLayer(const IntegerLayerSettings& settings) : place_(settings.place) {}

 protected:
  void run_forward(const PointCase& point, std::span<const Values> inputs, const Values& output) {
    place_.forward->pointwise(point, inputs, output);
  }
  // To one input, if it wants its error.
  void send(const PointCase& point, std::span<const Values> from, const Values& to) {
    if (!to.memory.is_empty()) place_.input_error->pointwise(point, from, to);
  }
  void send_all(const IntegerBackward& arguments) {
    for (const Values& each : arguments.input_errors)
      send(CopyValues{}, std::span(&arguments.error, 1), each);
  }

  LayerPlace place_;
};

class RectifierLayer final : public PointLayer {
 public:
  explicit RectifierLayer(const IntegerLayerSettings& settings)
      : PointLayer(settings),
        has_cut_(is<Relu6>(settings.node.op)),
        is_pooled_(settings.is_pooled) {}

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    run_forward(Rectify{has_cut_}, inputs, output);
  }
  void backward(const IntegerBackward& arguments) override {
    if (is_pooled_) return send_all(arguments);
    const Values operands[] = {arguments.error, arguments.output};
    send(RectifyError{has_cut_}, operands, arguments.input_errors[0]);
  }
  bool keeps_output() const override { return !is_pooled_; }
  bool works_in_place() const override { return true; }

 private:
  bool has_cut_;
  bool is_pooled_;
};

class DropoutLayer final : public PointLayer {
 public:
  DropoutLayer(const IntegerLayerSettings& settings, int halvings)
      : PointLayer(settings),
        drop_{halvings, kIntegerDropoutStreams + static_cast<std::uint32_t>(settings.index)} {}

  void forward(const StepContext& step, std::span<const Values> inputs,
               const Values& output) override {
    run_forward(case_of(step), inputs, output);
  }
  void backward(const IntegerBackward& arguments) override {
    send(case_of(arguments.step), std::span(&arguments.error, 1), arguments.input_errors[0]);
  }
  bool works_in_place() const override { return true; }

 private:
  PointCase case_of(const StepContext& step) const {
    if (!step.is_training || drop_.halvings == 0) return CopyValues{};
    return drop_;
  }

  Drop drop_;
};

class FlattenLayer final : public PointLayer {
 public:
  using PointLayer::PointLayer;

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    run_forward(CopyValues{}, inputs, output);
  }
  void backward(const IntegerBackward& arguments) override { send_all(arguments); }
  bool works_in_place() const override { return true; }
};

class AddLayer final : public PointLayer {
 public:
  explicit AddLayer(const IntegerLayerSettings& settings)
      : PointLayer(settings), value_point_(settings.value_point()) {}

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    run_forward(AddValues{value_point_.point}, inputs, output);
  }
  void backward(const IntegerBackward& arguments) override { send_all(arguments); }
  int sum_exponent(std::span<const int> inputs) const override { return align(inputs).exponent; }
  std::vector<PlacedPoint> value_points() const override { return {value_point_}; }

 private:
  PlacedPoint value_point_;
};

class BiasLayer final : public PointLayer {
 public:
  explicit BiasLayer(const IntegerLayerSettings& settings)
      : PointLayer(settings),
        bias_(settings.weights("bias", {settings.output.channels}, kBiasExponent, 0),
              settings.place),
        value_point_(settings.value_point()) {}

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    run_forward(AddBias{&bias_.on(*place_.forward), value_point_.point}, inputs, output);
  }
  void backward(const IntegerBackward& arguments) override {
    if (const Values& error = arguments.gradient_error; !error.memory.is_empty())
      place_.weight_gradient->bias_gradient(error, bias_.gradient());
    send_all(arguments);
  }
  std::vector<TrainedTensor*> parameters() override { return {&bias_}; }
  int sum_exponent(std::span<const int> inputs) const override {
    const int exponents[] = {inputs[0], bias_.exponent()};
    return align(exponents).exponent;
  }
  std::vector<PlacedPoint> value_points() const override { return {value_point_}; }

 private:
  TrainedTensor bias_;
  PlacedPoint value_point_;
};

// Slice and pad: every number of the smaller side has a place in the larger one.
class BoxLayer final : public PointLayer {
 public:
  BoxLayer(const IntegerLayerSettings& settings, const MoveBox& box)
      : PointLayer(settings), ahead_(box), back_(box) {
    back_.to_small = !ahead_.to_small;
  }

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    run_forward(ahead_, inputs, output);
  }
  void backward(const IntegerBackward& arguments) override {
    send(back_, std::span(&arguments.error, 1), arguments.input_errors[0]);
  }

 private:
  MoveBox ahead_;
  MoveBox back_;
};

class ConcatLayer final : public PointLayer {
 public:
  explicit ConcatLayer(const IntegerLayerSettings& settings)
      : PointLayer(settings), inputs_(settings.inputs), value_point_(settings.value_point()) {}

  void forward(const StepContext&, std::span<const Values> inputs, const Values& output) override {
    run_forward(ConcatValues{value_point_.point}, inputs, output);
  }
  void backward(const IntegerBackward& arguments) override {
    MoveBox part;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      send(part, std::span(&arguments.error, 1), arguments.input_errors[k]);
      part.begin[2] += inputs_[k].channels;
    }
  }
  int sum_exponent(std::span<const int> inputs) const override { return align(inputs).exponent; }
  std::vector<PlacedPoint> value_points() const override { return {value_point_}; }

 private:
  std::vector<Picture> inputs_;
  PlacedPoint value_point_;
};

// A vector has one axis, that of the channels.
void take_axes(const std::vector<std::int64_t>& from, std::array<std::int64_t, 3>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[3 - from.size() + i] = from[i];
}

MoveBox box_of(const Op& op) {
  MoveBox box;
  if (const auto* slice = std::get_if<Slice>(&op)) {
    take_axes(slice->begin, box.begin);
    take_axes(slice->step, box.step);
  } else {
    take_axes(std::get<Pad>(op).before, box.begin);
    box.to_small = false;
  }
  return box;
}

void check_add(const IntegerLayerSettings& settings) {
  for (const Picture& each : settings.inputs) {
    if (each != settings.inputs[0])
      refuse_layer(settings.node, "values that were flattened from other pictures", "one picture");
  }
}

void check_concat(const IntegerLayerSettings& settings) {
  for (const Picture& each : settings.inputs) {
    if (each.height != settings.output.height || each.width != settings.output.width)
      refuse_layer(settings.node, "flattened pictures", "pictures, or features of layers");
  }
}

int checked_halvings(const IntegerLayerSettings& settings) {
  const int halvings = halvings_of(std::get<Dropout>(settings.node.op).share);
  if (halvings < 0)
    refuse_layer(settings.node, "a share that is no 1 - 2^-k", "0, 0.5, 0.75, 0.875 or 0.9375");
  return halvings;
}

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_pointwise(const IntegerLayerSettings& settings) {
  const Op& op = settings.node.op;
  if (is<Relu>(op) || is<Relu6>(op)) return std::make_unique<RectifierLayer>(settings);
  if (is<Dropout>(op)) return std::make_unique<DropoutLayer>(settings, checked_halvings(settings));
  if (is<Bias>(op)) return std::make_unique<BiasLayer>(settings);
  if (is<Slice>(op) || is<Pad>(op)) return std::make_unique<BoxLayer>(settings, box_of(op));
  if (is<Flatten>(op)) return std::make_unique<FlattenLayer>(settings);
  if (is<Add>(op)) {
    check_add(settings);
    return std::make_unique<AddLayer>(settings);
  }
  if (is<Concat>(op)) {
    check_concat(settings);
    return std::make_unique<ConcatLayer>(settings);
  }
  refuse_layer(settings.node, name_of(op), "an operation that has an integer form");
}

}  // namespace nibble::inline integer_step
