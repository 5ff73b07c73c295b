// SPDX-License-Identifier: Apache-2.0
// Costs of float training by looking at traces.
#include "placement/float_measure.h"

#include <algorithm>
#include <array>

#include "backend/lost_device.h"
#include "float_training/float_device.h"
#include "placement/cut.h"
#include "placement/fit.h"
#include "placement/float_graph.h"
#include "placement/float_trial.h"
#include "placement/measure_crowding.h"
#include "placement/parts.h"
#include "placement/plan.h"
#include "placement/trace_times.h"

namespace nibble::inline placement {
namespace {

// Steps under one placement, every second one traced.
class WatchedSteps {
 public:
  WatchedSteps(const Recipe& recipe, std::string place, std::int64_t images)
      : trial_(std::make_unique<FloatTrial>(recipe, std::move(place), images)) {
    for (int i = 0; i < 2; ++i) trial_->step();
  }

  // The first step finds caches that others have used.
  void take_turn() {
    trial_->step();
    times_.push_back(trial_->step());
    traces_.add(trial_->traced_step());
  }

  FloatTrial& trial() { return *trial_; }
  void end() { trial_.reset(); }  // what it has seen stays
  Nanoseconds usual() const { return median_of(times_); }
  Nanoseconds on_host(const PlacedUnit& unit, const char* pass) const {
    return traces_.on_host(unit.node + " " + pass);
  }
  const TraceTimes& traces() const { return traces_; }

 private:
  std::unique_ptr<FloatTrial> trial_;
  TraceTimes traces_;
  std::vector<Nanoseconds> times_;
};

class FloatMeasurer {
 public:
  // All kinds of steps in turns; or, where not so many fit on the device, one after the other, in
  // parts that do.
  FloatMeasurer(const Recipe& recipe, std::int64_t images, const std::string& device)
      : recipe_(recipe), images_(images), device_(device) {
    measured_.graph = float_step_graph(recipe, images);
  }

  MeasuredStep measure_in_turns() {
    if (!device_.empty()) parts_ = {all_on(measured_.graph, 1)};
    host_ = std::make_unique<WatchedSteps>(recipe_, "cpu", images_);
    for (const Sides& part : parts_) {
      for (const Kind kind : kKinds) there_.push_back(steps_of(part, kind));
    }
    in_turns([&] {
      host_->take_turn();
      for (const auto& each : there_) each->take_turn();
    });
    if (!device_.empty()) measure_crowd();
    for (const auto& each : there_) each->end();
    return costs_of_all();
  }

  // Not how the devices slow each other down, for the host has a share in every part.
  MeasuredStep measure_in_parts(std::int64_t most_memory) {
    constexpr int kTurnsOfAPart = 3;
    most_memory_ = most_memory;
    parts_ = parts_within(measured_.graph, most_memory);
    host_ = std::make_unique<WatchedSteps>(recipe_, "cpu", images_);
    in_turns([&] { host_->take_turn(); });
    for (const Sides& part : parts_) {
      for (const Kind kind : kKinds) {
        there_.push_back(steps_of(part, kind));
        for (int turn = 0; turn < kTurnsOfAPart; ++turn) there_.back()->take_turn();
        there_.back()->end();
      }
    }
    return costs_of_all();
  }

  std::int64_t memory_in_turns() const {
    std::int64_t bytes = 0;
    for (const Kind kind : kKinds)
      bytes += memory_of_second(measured_.graph, of_kind(all_on(measured_.graph, 1), kind));
    return bytes;
  }

 private:
  // Of what is on the device: everything, input errors alone, gradients alone.
  enum class Kind { all, input_errors, gradients };
  static constexpr std::array kKinds = {Kind::all, Kind::input_errors, Kind::gradients};

  Sides of_kind(Sides sides, Kind kind) const {
    const TrainPass pass =
        kind == Kind::gradients ? TrainPass::weight_gradient : TrainPass::input_error;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (kind != Kind::all && measured_.graph.units[i].unit.pass != pass) sides[i] = 0;
    }
    return sides;
  }
  std::unique_ptr<WatchedSteps> steps_of(const Sides& part, Kind kind) const {
    return std::make_unique<WatchedSteps>(recipe_, rules_for(of_kind(part, kind)), images_);
  }
  std::string rules_for(const Sides& sides) const {
    return rules_of(recipe_.network, measured_.graph, sides, {"cpu", device_});
  }
  void measure_crowd() {
    if (make_float_device(device_)->shares_host())
      measured_.costs.crowded = measure_crowding(host_->trial(), there_[0]->trial());
  }

  MeasuredStep costs_of_all() {
    StepCosts& costs = measured_.costs;
    costs.runs_ahead = {false, !device_.empty()};
    for (std::size_t i = 0; i < measured_.graph.units.size(); ++i) {
      const PlacedUnit& unit = measured_.graph.units[i];
      const bool has_moved = part_with(parts_, i) >= 0;
      const Nanoseconds here = time_here(i);
      // The best guess for what fits into no part.
      const Nanoseconds otherwise = unit.is_fixed || device_.empty() ? 0 : here;
      costs.units.push_back({here, has_moved ? time_there(i) : otherwise});
      costs.asks.push_back({0, has_moved ? asking(i) : 0});
    }
    fit_to_step(measured_.graph, 0, host_->usual(), costs);
    if (parts_.empty()) return std::move(measured_);
    costs.links = {there_[0]->traces().link("up"), there_[0]->traces().link("down")};
    costs.wires = {{costs.wire, costs.links}};
    for (const Flow& flow : measured_.graph.flows) costs.copies.push_back(copies_of(flow));
    costs = fitted_to(mixed_steps(), measured_.graph, costs);
    return std::move(measured_);
  }

  const WatchedSteps& there(std::size_t part, Kind kind) const {
    return *there_[part * kKinds.size() + static_cast<std::size_t>(kind)];
  }
  // Of the part that has the unit on the device.
  const WatchedSteps& there(std::size_t unit) const {
    return there(static_cast<std::size_t>(part_with(parts_, unit)), Kind::all);
  }

  // The two products of the way back share threads where the host computes both: together they take
  // what they take there, in proportion to what each takes alone.
  Nanoseconds time_here(std::size_t number) const {
    const PlacedUnit& unit = measured_.graph.units[number];
    const WatchedSteps& all = *host_;
    if (unit.unit.pass == TrainPass::update) return share_of_update(unit.unit.node);
    if (is_loss(recipe_.network.nodes[unit.unit.node].op)) return all.traces().on_host("loss");
    if (unit.unit.pass == TrainPass::forward) return all.on_host(unit, "forward");
    const Nanoseconds both = all.on_host(unit, "backward");
    const PlacedUnit* other = measured_.graph.find(
        {unit.unit.node, unit.unit.pass == TrainPass::input_error ? TrainPass::weight_gradient
                                                                  : TrainPass::input_error});
    if (unit.is_fixed || device_.empty() || other == nullptr) return both;
    const std::ptrdiff_t part = part_with(parts_, number);
    const auto number_of_other = static_cast<std::size_t>(other - measured_.graph.units.data());
    if (part < 0 || part != part_with(parts_, number_of_other)) return both / 2;
    const auto of_part = [&](Kind kind) {
      return there(static_cast<std::size_t>(part), kind).on_host(unit, "backward");
    };
    const Nanoseconds gradient = of_part(Kind::input_errors);
    const Nanoseconds error = of_part(Kind::gradients);
    if (gradient + error == 0) return both;
    return both * (unit.unit.pass == TrainPass::input_error ? error : gradient) /
           (gradient + error);
  }

  // All parameters are updated at once: by their numbers.
  Nanoseconds share_of_update(std::size_t node) const {
    std::int64_t own = 0;
    std::int64_t all = 0;
    for (const Parameter& each : parameters_of(recipe_.network)) {
      if (!each.is_trained) continue;
      all += each.shape.elements();
      if (each.node == node) own += each.shape.elements();
    }
    return host_->traces().on_host("update") * own / all;
  }

  Nanoseconds time_there(std::size_t number) const {
    const PlacedUnit& unit = measured_.graph.units[number];
    const auto words = [&]() -> std::string {
      if (unit.unit.pass == TrainPass::forward) return " forward";
      return unit.unit.pass == TrainPass::input_error ? " input error" : " weight gradient";
    };
    return there(number).traces().on_device(unit.node + words());
  }

  // What is left for the host where the device computes: roundings, and asking.
  Nanoseconds asking(std::size_t number) const {
    const PlacedUnit& unit = measured_.graph.units[number];
    if (unit.unit.pass == TrainPass::forward) return there(number).on_host(unit, "forward");
    return unit.unit.pass == TrainPass::weight_gradient ? there(number).on_host(unit, "backward")
                                                        : 0;
  }

  // In which the tensor crosses.
  const WatchedSteps& steps_with(const Flow& flow) const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (crosses(flow, parts_[part])) return there(part, Kind::all);
    }
    return *there_[0];
  }

  // The host packs and unpacks its side of a copy, the device its own. Biases go with weights.
  std::array<CopyCost, 2> copies_of(const Flow& flow) const {
    const TraceTimes& traces = steps_with(flow).traces();
    std::string words = flow.tensor;  // of the device's trace
    const std::size_t dot = words.rfind('.');
    words[dot] = ' ';
    const bool is_weight = flow.tensor.substr(dot) == ".weight";
    const std::string bias = flow.tensor.substr(0, dot);
    CopyCost up{.leave = traces.on_host("send " + flow.tensor),
                .travel = traces.link("up").of(flow.bytes),
                .arrive = traces.on_device("unpack " + words)};
    if (is_weight) {
      up.leave += traces.on_host("send " + bias + ".bias");
      up.arrive += traces.on_device("unpack " + bias + " bias");
    }
    return {up,
            {.travel = traces.link("down").of(flow.bytes),
             .ask = traces.on_host("bring in " + flow.tensor)}};
  }

  std::vector<MixedStep> mixed_steps() const {
    const StepGraph& graph = measured_.graph;
    std::vector<MixedStep> mixed;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (const Kind kind : kKinds)
        mixed.push_back({of_kind(parts_[part], kind), there(part, kind).usual()});
    }
    constexpr std::uint32_t kByChance = 6;
    for (std::uint32_t number = 0; number < kByChance; ++number) {
      const Sides sides = sides_by_chance_within(graph, number, parts_, most_memory_);
      if (sides == all_on(graph, 0)) continue;
      FloatTrial trial(recipe_, rules_for(sides), images_);
      for (int i = 0; i < 2; ++i) trial.step();
      mixed.push_back({sides, trial.usual_step()});
    }
    return mixed;
  }

  const Recipe& recipe_;
  std::int64_t images_;
  std::string device_;
  MeasuredStep measured_;
  std::int64_t most_memory_ = 0;
  std::vector<Sides> parts_;  // none without a device
  std::unique_ptr<WatchedSteps> host_;
  std::vector<std::unique_ptr<WatchedSteps>> there_;  // by part and kind
};

}  // namespace

MeasuredStep measure_float_step(const Recipe& recipe, std::int64_t images,
                                const std::string& device, std::int64_t most_memory) {
  if (device.empty()) return FloatMeasurer(recipe, images, device).measure_in_turns();
  if (most_memory == 0 || FloatMeasurer(recipe, images, device).memory_in_turns() <= most_memory) {
    try {
      return FloatMeasurer(recipe, images, device).measure_in_turns();
    } catch (const Error& error) {  // there may be room for one step at a time
      if (!is_of_device(error)) throw;
    }
  }
  return FloatMeasurer(recipe, images, device).measure_in_parts(most_memory);
}

}  // namespace nibble::inline placement
