// SPDX-License-Identifier: Apache-2.0
// What a tape is made of, and values forward.
#include "integer_step/tape.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/host_ranges.h"
#include "core/name.h"
#include "graph/batch_norm.h"
#include "graph/pooled_rectifier.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {
namespace {

constexpr std::uint32_t kJoinPoint = 7;  // of a node's eight streams
constexpr std::size_t kValueSlot = 0;
constexpr std::size_t kFirstErrorSlot = 1;

bool is_frozen(const Node& node, std::span<const std::string> patterns) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return matches(pattern, node.name); });
}

}  // namespace

InputBatch part_of(const InputBatch& batch, std::int64_t first, std::int64_t count) {
  const auto cut = [&]<class Number>(std::span<const Number> numbers) {
    if (numbers.empty()) return numbers;
    const auto each = numbers.size() / static_cast<std::size_t>(batch.images);
    return numbers.subspan(static_cast<std::size_t>(first) * each,
                           static_cast<std::size_t>(count) * each);
  };
  InputBatch part = batch;
  part.images = count;
  part.bytes = cut(batch.bytes);
  part.mantissas = cut(batch.mantissas);
  if (part.selection) part.selection->indices = cut(batch.selection->indices);
  return part;
}

IntegerTape::IntegerTape(const Network& network, const IntegerRoundings& roundings,
                         Placement placement, std::span<const std::string> frozen,
                         FrozenStatistics statistics)
    : network_(network),
      placement_(std::move(placement)),
      pictures_(pictures_of(network)),
      layers_(network.nodes.size()),
      answer_(output_of(network)),
      arrivals_(network.nodes.size()),
      senders_(network.nodes.size()),
      arrived_(network.nodes.size()) {
  std::vector<LayerNeeds> needs;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    const RoundingChoice& choice = roundings.of(node.name);
    const LayerPlace place = placement_.of(i);
    for (IntegerBackend* each :
         {place.forward, place.input_error, place.weight_gradient, place.update}) {
      if (std::ranges::find(backends_, each) == backends_.end()) backends_.push_back(each);
    }
    const std::string join = node.name + ".errors";
    joins_.push_back(
        {join, place.input_error,
         place.input_error->new_point(
             {join, choice.error,
              kIntegerRoundingStreams + static_cast<std::uint32_t>(i) * 8 + kJoinPoint})});
    if (!is<Input>(node.op) && !is_loss(node.op)) {
      IntegerLayerSettings settings{
          .node = node,
          .index = i,
          .inputs = {},
          .output = pictures_[i],
          .place = place,
          .gives_sums = is_normalized_product(network, i),
          .is_rectified = is<MaxPool>(node.op) && is_pooled_rectifier(network, node.inputs[0]),
          .is_pooled = is_pooled_rectifier(network, i),
          .statistics = statistics,
          .first_parameter = static_cast<std::uint32_t>(parameters_.size()),
          .value_rounding = choice.value,
          .error_rounding = choice.error,
          .gradient_rounding = choice.gradient};
      for (const std::size_t input : node.inputs) settings.inputs.push_back(pictures_[input]);
      if (is<BatchNorm>(node.op)) settings.product = product_before(node, place);
      layers_[i] = make_integer_layer(settings);
      for (TrainedTensor* parameter : layers_[i]->parameters()) parameters_.push_back(parameter);
      for (PlacedPoint& point : layers_[i]->value_points()) points_.push_back(std::move(point));
      for (PlacedPoint& point : layers_[i]->error_points()) points_.push_back(std::move(point));
    }
    points_.push_back(joins_[i]);
    needs.push_back(needs_of(layers_[i].get()));
    if (needs.back().has_parameters && is_frozen(node, frozen)) {
      needs.back().has_parameters = false;
      needs.back().keeps_inputs = is<BatchNorm>(node.op);  // whose error needs them
    }
    // A layer that runs elsewhere than what it reads has its own memory there.
    if (!node.inputs.empty() && &placement_.of(node.inputs[0], TrainPass::forward) != place.forward)
      needs.back().works_in_place = false;
  }
  memory_.emplace(network, std::move(needs));
  find_senders();
  find_last_ahead();
}

const TrainedTensor* IntegerTape::product_before(const Node& norm, const LayerPlace& place) const {
  const std::size_t input = norm.inputs[0];
  const TrainedTensor* weight = layers_[input] ? layers_[input]->weight_of_sums() : nullptr;
  if (weight != nullptr && &placement_.of(input, TrainPass::forward) != place.forward)
    refuse_layer(norm, "sums of another device", "its product on its own device");
  return weight;
}

std::vector<NormalizationRecord> IntegerTape::statistics() const {
  std::vector<NormalizationRecord> list;
  for (const auto& layer : layers_) {
    if (!layer) continue;
    if (std::optional<NormalizationRecord> own = layer->statistics())
      list.push_back(std::move(*own));
  }
  return list;
}

std::vector<RunningStatistics> IntegerTape::running() const {
  std::vector<RunningStatistics> list;
  for (const auto& layer : layers_) {
    NormalizationOp* keeper = layer ? layer->keeper_of_statistics() : nullptr;
    if (keeper == nullptr) continue;
    if (RunningStatistics own = keeper->running(); !own.empty()) list.push_back(std::move(own));
  }
  return list;
}

void IntegerTape::set_running(std::span<const RunningStatistics> running) {
  if (running.empty()) return;
  auto next = running.begin();
  for (const auto& layer : layers_) {
    NormalizationOp* keeper = layer ? layer->keeper_of_statistics() : nullptr;
    if (keeper != nullptr) keeper->set_running(*next++);
  }
}

std::vector<PointState> IntegerTape::point_states() const {
  std::map<const IntegerBackend*, SlotTable> tables;
  for (IntegerBackend* backend : backends_) tables.emplace(backend, backend->read_slots());
  std::vector<PointState> states;
  for (const PlacedPoint& each : points_)
    states.push_back(tables.at(each.backend).point(each.point));
  return states;
}

std::vector<int> IntegerTape::value_exponents() const {
  std::map<const IntegerBackend*, SlotTable> tables;
  for (IntegerBackend* backend : backends_) tables.emplace(backend, backend->read_slots());
  std::vector<int> exponents;
  for (std::size_t i = 0; i <= answer_; ++i) {
    const IntegerBackend* backend = &placement_.of(i, TrainPass::forward);
    const Slot slot = slots_.at({i, kValueSlot, backend});
    exponents.push_back(tables.at(backend).exponents[static_cast<std::size_t>(slot.place)]);
  }
  return exponents;
}

void IntegerTape::thaw() {
  for (std::size_t i = 1; i <= answer_; ++i) {
    if (!layers_[i]) continue;
    layers_[i]->thaw();
    layers_[i]->leave_by(nullptr);
  }
}

void IntegerTape::freeze(std::span<const int> value_exponents,
                         std::span<const NormalizationRecord> norms) {
  constexpr int kMostShift = 62;
  std::size_t next_norm = 0;
  for (std::size_t i = 1; i <= answer_; ++i) {
    if (!layers_[i]) continue;
    if (is<BatchNorm>(network_.nodes[i].op)) {
      if (next_norm == norms.size())
        throw Error("integers", "statistics of " + network_.nodes[i].name, "none",
                    "those that freeze it");
      const FrozenLine* line = layers_[i]->freeze(norms[next_norm++], value_exponents[i]);
      if (const auto& before = layers_[network_.nodes[i].inputs[0]]) before->leave_by(line);
      continue;
    }
    for (const PlacedPoint& point : layers_[i]->value_points()) {
      std::vector<int> inputs;
      for (const std::size_t input : network_.nodes[i].inputs)
        inputs.push_back(value_exponents[input]);
      const int shift = value_exponents[i] - layers_[i]->sum_exponent(inputs);
      if (shift < 0 || shift > kMostShift) {
        throw Error("integers", "shift of layer " + network_.nodes[i].name, std::to_string(shift),
                    "0 to 62: its exponent does not fit those of its inputs");
      }
      point.backend->set_point(point.point, {.shift = shift});
    }
  }
}

std::size_t IntegerTape::peak_bytes() const {
  std::size_t bytes = 0;
  for (const IntegerBackend* backend : backends_) bytes += backend->peak_bytes();
  return bytes;
}

Slot IntegerTape::slot(std::size_t node, std::size_t number, IntegerBackend& backend) {
  const auto [place, is_new] = slots_.try_emplace({node, number, &backend});
  if (is_new) place->second = backend.new_slot();
  return place->second;
}

Slot IntegerTape::value_slot(std::size_t node, IntegerBackend& backend) {
  return slot(node, kValueSlot, backend);
}

Slot IntegerTape::arrival_slot(std::size_t node, IntegerBackend& backend) {
  return slot(node, kFirstErrorSlot + arrivals_[node]++, backend);
}

Values IntegerTape::value_at(std::size_t node, const MemoryHandle& memory,
                             IntegerBackend& backend) {
  return {.picture = pictures_[node],
          .images = images_,
          .memory = memory,
          .exponent = value_slot(node, backend),
          .storage = layers_[node] ? layers_[node]->value_storage() : ValueStorage::s8};
}

Values IntegerTape::fresh_value(std::size_t node, IntegerBackend& backend) {
  Values value = value_at(node, {}, backend);
  value.memory = backend.take(value.picture, images_, value.storage);
  return value;
}

Values IntegerTape::fresh_error(std::size_t node, IntegerBackend& backend) {
  return {.picture = pictures_[node],
          .images = images_,
          .memory = backend.take(pictures_[node], images_),
          .exponent = arrival_slot(node, backend)};
}

void IntegerTape::set_trace(StepTrace* trace) {
  for (IntegerBackend* backend : backends_) backend->set_trace(trace);
  placement_.wire().set_trace(trace);
}

Values IntegerTape::forward(const StepContext& step, const InputBatch& batch) {
  memory_->start();
  images_ = batch.images;
  StepContext context = step;
  context.settles_at_end = step.is_training && backends_.size() == 1;
  for (IntegerBackend* backend : backends_) backend->begin(context);
  IntegerBackend& entry = placement_.of(0, TrainPass::forward);
  const Values input = fresh_value(0, entry);
  entry.enter(network_.nodes[0].name, TrainPass::forward);
  watched({0, TrainPass::forward}, entry, [&] {
    if (batch.tables.empty()) {
      entry.load(batch.mantissas, batch.exponent, input);
    } else if (batch.selection) {
      entry.load_images(*batch.selection, batch.tables, batch.exponent, input);
    } else {
      entry.load_bytes(batch.bytes, batch.tables, batch.exponent, input);
    }
  });
  memory_->value(0).set(entry, input);
  send_value(0, step.is_training);
  for (std::size_t i = 1; i <= answer_; ++i) {
    if (!layers_[i]) continue;
    forward_node(step, i);
    memory_->end_forward(i, step.is_training);
  }
  const Values answers = value_on(answer_, answer_backend());
  if (!step.is_training) leave_host_range();  // else the way back does
  return answers;
}

void IntegerTape::forward_node(const StepContext& step, std::size_t node) {
  IntegerBackend& backend = placement_.of(node, TrainPass::forward);
  backend.enter(network_.nodes[node].name, TrainPass::forward);
  std::vector<Values> inputs;
  for (const std::size_t input : network_.nodes[node].inputs)
    inputs.push_back(value_on(input, backend));
  Values output;
  if (memory_->is_in_place(node)) {
    output = inputs[0];
    output.picture = pictures_[node];
    output.exponent = value_slot(node, backend);
  } else {
    output = fresh_value(node, backend);
  }
  watched({node, TrainPass::forward}, backend,
          [&] { layers_[node]->forward(step, inputs, output); });
  memory_->value(node).set(backend, output);
  send_value(node, step.is_training);
  if (observer_) show(layers_[node]->value_points(), backend, output);
}

void IntegerTape::show(std::span<const PlacedPoint> points, IntegerBackend& backend,
                       const Values& made) {
  if (made.memory.is_empty()) return;
  for (const PlacedPoint& point : points) observer_(point.name, backend, made);
}

}  // namespace nibble::inline integer_step
