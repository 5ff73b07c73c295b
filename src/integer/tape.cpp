// SPDX-License-Identifier: Apache-2.0
// Integer values forward, integer errors back.
#include "integer/tape.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "integer/block_sum.h"
#include "nibble/core/error.h"

namespace nibble {
namespace {

constexpr std::uint32_t kJoinPoint = 7;  // of a node's eight streams

}  // namespace

IntegerTape::IntegerTape(const Network& network, const IntegerRoundings& roundings)
    : network_(network),
      pictures_(pictures_of(network)),
      layers_(network.nodes.size()),
      answer_(output_of(network)),
      exponents_(network.nodes.size()) {
  std::vector<LayerNeeds> needs;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    const RoundingChoice& choice = roundings.of(node.name);
    joins_.emplace_back(node.name + ".errors", choice.error,
                        kIntegerRoundingStreams + static_cast<std::uint32_t>(i) * 8 + kJoinPoint);
    if (!is<Input>(node.op) && !is_loss(node.op)) {
      IntegerLayerSettings settings{.node = node,
                                    .index = i,
                                    .inputs = {},
                                    .output = pictures_[i],
                                    .value_rounding = choice.value,
                                    .error_rounding = choice.error};
      for (const std::size_t input : node.inputs) settings.inputs.push_back(pictures_[input]);
      layers_[i] = make_integer_layer(settings);
      for (TrainedTensor* parameter : layers_[i]->parameters()) {
        parameter->rounding = choice.gradient;
        parameter->stream = kIntegerUpdateStreams + static_cast<std::uint32_t>(parameters_.size());
        parameters_.push_back(parameter);
      }
    }
    needs.push_back(needs_of(layers_[i].get()));
  }
  memory_.emplace(network, std::move(needs));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i]) {
      if (RoundingPoint* point = layers_[i]->value_point()) points_.push_back(point);
      for (RoundingPoint* point : layers_[i]->error_points()) points_.push_back(point);
    }
    points_.push_back(&joins_[i]);
  }
}

void IntegerTape::weights_changed() {
  for (const auto& layer : layers_) {
    if (layer) layer->weights_changed();
  }
}

RoundingPoint* IntegerTape::value_point(std::size_t node) const {
  return layers_[node] ? layers_[node]->value_point() : nullptr;
}

std::vector<int> IntegerTape::value_exponents() const {
  std::vector<int> exponents;
  for (std::size_t i = 0; i <= answer_; ++i) exponents.push_back(exponents_[i].value);
  return exponents;
}

void IntegerTape::freeze(std::span<const int> value_exponents) {
  constexpr int kMostShift = 62;
  for (std::size_t i = 1; i <= answer_; ++i) {
    RoundingPoint* point = value_point(i);
    if (point == nullptr) continue;
    std::vector<int> inputs;
    for (const std::size_t input : network_.nodes[i].inputs)
      inputs.push_back(value_exponents[input]);
    const int shift = value_exponents[i] - layers_[i]->sum_exponent(inputs);
    if (shift < 0 || shift > kMostShift) {
      throw Error("integers", "shift of layer " + network_.nodes[i].name, std::to_string(shift),
                  "0 to 62: its exponent does not fit those of its inputs");
    }
    point->set_shift(shift);
  }
}

BlockTensor IntegerTape::value_at(std::size_t node) const {
  BlockTensor tensor = batch_;
  if (const Buffer& buffer = memory_->value(node); !buffer.is_empty())
    tensor.data = buffer.as<std::int8_t>();
  tensor.picture = pictures_[node];
  tensor.exponent = exponents_[node].value;
  return tensor;
}

BlockTensor IntegerTape::error_at(std::size_t node) const {
  return {.picture = pictures_[node],
          .images = batch_.images,
          .exponent = exponents_[node].error,
          .data = memory_->error(node).as<std::int8_t>()};
}

// Memory for a value or an error of the node, with zeros where nobody will write.
Buffer IntegerTape::take(std::size_t node, BlockTensor& tensor) {
  tensor = {.picture = pictures_[node], .images = batch_.images};
  Buffer buffer = pool_.take<std::int8_t>(tensor.bytes());
  tensor.data = buffer.as<std::int8_t>();
  clear_filling(tensor);
  return buffer;
}

BlockTensor IntegerTape::forward(const IntegerPass& pass, const BlockTensor& batch) {
  memory_->start();
  batch_ = batch;
  exponents_[0].value = batch.exponent;
  for (std::size_t i = 1; i <= answer_; ++i) {
    if (!layers_[i]) continue;
    const Node& node = network_.nodes[i];
    std::vector<BlockTensor> values;
    for (const std::size_t input : node.inputs) values.push_back(value_at(input));
    std::vector<const BlockTensor*> inputs;
    for (const BlockTensor& value : values) inputs.push_back(&value);
    BlockTensor output = values[0];
    output.picture = pictures_[i];
    if (!memory_->is_in_place(i)) memory_->value(i) = take(i, output);
    layers_[i]->forward({pass, inputs, output});
    exponents_[i].value = output.exponent;
    memory_->end_forward(i, pass.is_training);
  }
  return value_at(answer_);
}

void IntegerTape::backward(const IntegerPass& pass, const BlockTensor& answer_error) {
  BlockTensor error;
  memory_->error(answer_) = take(answer_, error);
  std::memcpy(error.data, answer_error.data, static_cast<std::size_t>(error.bytes()));
  exponents_[answer_].error = answer_error.exponent;
  for (std::size_t i = answer_; i > 0; --i) {
    if (layers_[i] && memory_->wants_error(i)) backward_node(pass, i);
  }
  memory_->clear();
}

void IntegerTape::backward_node(const IntegerPass& pass, std::size_t node) {
  const Node& description = network_.nodes[node];
  IntegerLayer& layer = *layers_[node];
  if (memory_->error(node).is_empty()) return;  // nothing that counts reads this value
  const BlockTensor error = error_at(node);

  const std::size_t count = description.inputs.size();
  const bool in_place = memory_->is_in_place(node);
  std::vector<BlockTensor> values(count);
  std::vector<BlockTensor> errors(count);
  std::vector<const BlockTensor*> inputs(count);
  std::vector<BlockTensor*> input_errors(count);
  std::vector<Buffer> buffers(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t input = description.inputs[k];
    if (layer.keeps_inputs()) {
      values[k] = value_at(input);
      inputs[k] = &values[k];
    }
    if (!memory_->wants_error(input)) continue;
    input_errors[k] = &errors[k];
    if (in_place && k == 0) {
      errors[k] = error;
      errors[k].picture = pictures_[input];
    } else {
      buffers[k] = take(input, errors[k]);
    }
  }
  const BlockTensor output = value_at(node);
  layer.backward({pass, inputs, layer.keeps_output() ? &output : nullptr, error, input_errors});
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t input = description.inputs[k];
    if (in_place && k == 0) {
      exponents_[input].error = errors[k].exponent;
    } else if (!buffers[k].is_empty()) {
      join_error(pass, input, buffers[k], errors[k].exponent);
    }
  }
  memory_->end_backward(node);
}

// The first error of a value is its error; a second one is added.
void IntegerTape::join_error(const IntegerPass& pass, std::size_t node, Buffer& other,
                             int exponent) {
  Buffer& target = memory_->error(node);
  if (target.is_empty()) {
    target = std::move(other);
    exponents_[node].error = exponent;
    return;
  }
  const BlockTensor first = error_at(node);
  BlockTensor second = first;
  second.data = other.as<std::int8_t>();
  second.exponent = exponent;
  BlockTensor sum;
  Buffer memory = take(node, sum);
  const BlockTensor* const operands[] = {&first, &second};
  add_blocks(joins_[node], pass, operands, sum);
  target = std::move(memory);
  exponents_[node].error = sum.exponent;
}

}  // namespace nibble
