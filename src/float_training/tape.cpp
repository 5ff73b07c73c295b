// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation over a network.
#include "float_training/tape.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "float_training/onednn.h"
#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kAddedAtOnce = 32768;

void add_to(float* sum, const float* addend, std::int64_t count) {
  parallel_for(static_cast<std::size_t>(count), kAddedAtOnce,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) sum[i] += addend[i];
               });
}

}  // namespace

Tape::Tape(const Network& network, const PrecisionPolicy& policy, Rounder& rounder,
           const FloatPlacement* placement, bool trains_steps)
    : network_(network),
      shapes_(infer_shapes(network)),
      layers_(network.nodes.size()),
      value_rules_(network.nodes.size()),
      error_rules_(network.nodes.size()),
      points_(rounding_points(network)),
      rounder_(rounder),
      answer_(output_of(network)),
      clamped_(network.nodes.size()) {
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    if (points_.activation[i]) value_rules_[i] = policy.find(Role::activation, node.name);
    if (points_.error[i]) error_rules_[i] = policy.find(Role::error, node.name);
    if (is<Input>(node.op) || is_loss(node.op)) continue;
    const RoundingRule* products = policy.find(Role::accumulator, node.name);
    LayerSettings settings{.node = node,
                           .index = i,
                           .inputs = {},
                           .output = shapes_[i],
                           .output_is_rounded = value_rules_[i] != nullptr,
                           .accumulator = products != nullptr ? &*products->accumulator : nullptr,
                           .place = placement != nullptr ? placement->of(i) : nullptr};
    for (const std::size_t input : node.inputs) settings.inputs.push_back(shapes_[input]);
    layers_[i] = make_layer(settings);
  }
  std::vector<LayerNeeds> needs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    needs.push_back(needs_of(layers_[i].get()));
    needs[i].makes_output_again =
        layers_[i] && layers_[i]->makes_output_again() && value_rules_[i] == nullptr;
    if (is<FakeQuantize>(network.nodes[i].op) && !trains_steps) needs[i].has_parameters = false;
  }
  memory_.emplace(network, std::move(needs));

  const std::vector<Parameter> wanted = parameters_of(network);
  for (const auto& layer : layers_) {
    if (!layer) continue;
    for (LayerParameter* parameter : layer->parameters()) {
      const Parameter& shape = wanted[parameters_.size()];
      parameter->value = Tensor(DType::f32, shape.shape);
      if (shape.is_trained) parameter->gradient = Tensor(DType::f32, shape.shape);
      parameters_.push_back(parameter);
    }
  }
}

void Tape::set_parameters(std::span<const Tensor> values) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    check_dtype(values[i].dtype(), DType::f32);
    std::memcpy(parameters_[i]->value.data(), values[i].data(), values[i].bytes());
    ++parameters_[i]->version;
  }
}

Shape Tape::batch_shape(std::size_t node) const {
  std::array<std::int64_t, kMaxRank> extents{images_};
  const Shape& shape = shapes_[node];
  std::ranges::copy(shape.extents(), extents.begin() + 1);
  return Shape(std::span<const std::int64_t>(extents.data(), shape.rank() + 1));
}

// The input stays in the caller's memory unless it is rounded.
float* Tape::value_at(std::size_t node) const {
  const Buffer& buffer = memory_->value(node);
  if (!buffer.is_empty()) return buffer.as<float>();
  return const_cast<float*>(batch_.as<float>().data());
}

void Tape::round_value(const Pass& pass, std::size_t node) {
  const TensorView value(reinterpret_cast<std::byte*>(value_at(node)), DType::f32,
                         batch_shape(node));
  if (points_.activation[node]) {
    const RoundingRule* rule = value_rules_[node];
    if (rule != nullptr && rule->zeroes_clamped && pass.is_training) {
      clamped_[node] = clamp_mask(value, rule->precision.format);
    }
    rounder_.round(rule, {Role::activation, node}, pass.random.step, value);
  }
  if (is<FakeQuantize>(network_.nodes[node].op)) {
    const float* before = value_at(network_.nodes[node].inputs[0]);
    rounder_.show_value(node,
                        {reinterpret_cast<const std::byte*>(before), DType::f32, value.shape()},
                        value, layers_[node]->parameters()[0]->value.as<float>());
  }
  if (watcher_) watcher_(node, value);
}

void Tape::enter(std::size_t node, const char* pass) const {
  if (host_.is_on()) host_.enter(network_.nodes[node].name + " " + pass);
}

// A value that went because it is made again.
void Tape::make_again(const Pass& pass, std::size_t node) {
  std::vector<const float*> inputs;
  for (const std::size_t input : network_.nodes[node].inputs) inputs.push_back(value_at(input));
  Buffer& value = memory_->value(node);
  value = pass.pool->take<float>(images_ * shapes_[node].elements());
  layers_[node]->forward({pass, inputs, value.as<float>()});
}

ConstTensorView Tape::forward(const Pass& pass, ConstTensorView batch) {
  images_ = batch.shape()[0];
  memory_->start();
  batch_ = batch;
  if (value_rules_[0] != nullptr) {  // rounding must not touch the caller's numbers
    memory_->value(0) = pass.pool->take<float>(batch.elements());
    std::memcpy(memory_->value(0).as<float>(), batch.data(), batch.bytes());
  }
  round_value(pass, 0);

  for (std::size_t i = 1; i <= answer_; ++i) {
    if (!layers_[i]) continue;
    const Node& node = network_.nodes[i];
    std::vector<const float*> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(value_at(input));
    Buffer& value = memory_->value(i);
    if (!memory_->is_in_place(i)) value = pass.pool->take<float>(images_ * shapes_[i].elements());
    enter(i, "forward");
    in_layer(node.name, [&] { layers_[i]->forward({pass, inputs, value.as<float>()}); });
    round_value(pass, i);
    memory_->end_forward(i, pass.is_training);
  }
  host_.leave();
  return {reinterpret_cast<const std::byte*>(memory_->value(answer_).as<float>()), DType::f32,
          batch_shape(answer_)};
}

void Tape::backward(const Pass& pass, ConstTensorView answer_error) {
  Buffer& last = memory_->error(answer_);
  last = pass.pool->take<float>(answer_error.elements());
  std::memcpy(last.as<float>(), answer_error.data(), answer_error.bytes());
  for (std::size_t i = answer_; i > 0; --i) {
    if (layers_[i] && memory_->wants_error(i)) backward_node(pass, i);
  }
  for (std::size_t i = answer_; i > 0; --i) {
    if (layers_[i]) in_layer(network_.nodes[i].name, [&] { layers_[i]->finish_backward(); });
  }
  memory_->clear();
  host_.leave();
}

void Tape::backward_node(const Pass& pass, std::size_t node) {
  const Node& description = network_.nodes[node];
  Layer& layer = *layers_[node];
  Buffer& error = memory_->error(node);
  if (error.is_empty()) return;  // nothing that counts reads this value
  enter(node, "backward");
  const TensorView error_view(reinterpret_cast<std::byte*>(error.as<float>()), DType::f32,
                              batch_shape(node));
  if (!clamped_[node].empty()) {
    zero_where(clamped_[node], error_view);
    clamped_[node].clear();
  }
  if (points_.error[node]) {
    rounder_.round(error_rules_[node], {Role::error, node}, pass.random.step, error_view);
  }

  const bool in_place = memory_->is_in_place(node);
  const std::size_t first = description.inputs[0];
  const bool hands_on = !in_place && description.inputs.size() == 1 &&
                        layer.passes_errors_in_place() && memory_->wants_error(first) &&
                        memory_->error(first).is_empty();
  std::vector<const float*> inputs;
  std::vector<float*> input_errors;
  std::vector<std::pair<std::size_t, Buffer>> extra;  // errors that join one that is there already
  for (std::size_t k = 0; k < description.inputs.size(); ++k) {
    const std::size_t input = description.inputs[k];
    if (layer.keeps_inputs() && memory_->is_to_be_made(input)) make_again(pass, input);
    inputs.push_back(layer.keeps_inputs() ? value_at(input) : nullptr);
    if (!memory_->wants_error(input)) {
      input_errors.push_back(nullptr);
    } else if (k == 0 && (in_place || hands_on)) {
      input_errors.push_back(error.as<float>());
    } else {
      Buffer& target = memory_->error(input);
      Buffer fresh = pass.pool->take<float>(images_ * shapes_[input].elements());
      input_errors.push_back(fresh.as<float>());
      if (target.is_empty()) {
        target = std::move(fresh);
      } else {
        extra.emplace_back(memory_->home(input), std::move(fresh));
      }
    }
  }
  const float* output = layer.keeps_output() ? memory_->value(node).as<float>() : nullptr;
  in_layer(description.name, [&] {
    layer.backward({pass, inputs, output, error.as<float>(), input_errors});
  });
  if (hands_on) memory_->error(first) = std::move(error);
  for (const auto& [target, buffer] : extra) {
    add_to(memory_->error(target).as<float>(), buffer.as<float>(),
           images_ * shapes_[target].elements());
  }
  memory_->end_backward(node);
}

}  // namespace nibble::inline float_training
