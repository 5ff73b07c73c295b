// SPDX-License-Identifier: Apache-2.0
// Costs of float training by looking at traces.
#include "placement/float_measure.h"

#include <algorithm>
#include <array>

#include "float_training/float_device.h"
#include "placement/fit.h"
#include "placement/float_graph.h"
#include "placement/float_trial.h"
#include "placement/measure_crowding.h"
#include "placement/plan.h"
#include "placement/trace_times.h"

namespace nibble::inline placement {
namespace {

// Steps under one placement, every second one traced.
class WatchedSteps {
 public:
  WatchedSteps(const Recipe& recipe, std::string place, std::int64_t images)
      : trial_(recipe, std::move(place), images) {
    for (int i = 0; i < 2; ++i) trial_.step();
  }

  // The first step finds caches that others have used.
  void take_turn() {
    trial_.step();
    times_.push_back(trial_.step());
    traces_.add(trial_.traced_step());
  }

  FloatTrial& trial() { return trial_; }
  Nanoseconds usual() const { return median_of(times_); }
  Nanoseconds on_host(const PlacedUnit& unit, const char* pass) const {
    return traces_.on_host(unit.node + " " + pass);
  }
  const TraceTimes& traces() const { return traces_; }

 private:
  FloatTrial trial_;
  TraceTimes traces_;
  std::vector<Nanoseconds> times_;
};

std::array<std::string, 4> places_with(const std::string& device) {
  return {"cpu", device, "*.input_error=" + device, "*.weight_gradient=" + device};
}

class FloatMeasurer {
 public:
  FloatMeasurer(const Recipe& recipe, std::int64_t images, const std::string& device)
      : recipe_(recipe), images_(images), device_(device) {
    measured_.graph = float_step_graph(recipe, images);
    const auto places = places_with(device);
    for (const std::string& place : places) {
      if (steps_.empty() || !device.empty())
        steps_.push_back(std::make_unique<WatchedSteps>(recipe, place, images));
    }
    in_turns([&] {
      for (const auto& each : steps_) each->take_turn();
    });
  }

  MeasuredStep measure() {
    StepCosts& costs = measured_.costs;
    costs.runs_ahead = {false, !device_.empty()};
    for (const PlacedUnit& unit : measured_.graph.units) {
      const bool can_move = !unit.is_fixed && !device_.empty();
      costs.units.push_back({time_here(unit), can_move ? time_there(unit) : 0});
      costs.asks.push_back({0, can_move ? asking(unit) : 0});
    }
    fit_to_step(measured_.graph, 0, steps_[0]->usual(), costs);
    if (device_.empty()) return std::move(measured_);
    costs.links = {all_there().traces().link("up"), all_there().traces().link("down")};
    costs.wires = {{costs.wire, costs.links}};
    for (const Flow& flow : measured_.graph.flows) costs.copies.push_back(copies_of(flow));
    if (make_float_device(device_)->shares_host())
      costs.crowded = measure_crowding(steps_[0]->trial(), steps_[1]->trial());
    costs = fitted_to(mixed_steps(), measured_.graph, costs);
    return std::move(measured_);
  }

 private:
  const WatchedSteps& all_there() const { return *steps_[1]; }

  // The two products of the way back share threads where the host computes both: together they take
  // what they take there, in proportion to what each takes alone.
  Nanoseconds time_here(const PlacedUnit& unit) const {
    const WatchedSteps& all = *steps_[0];
    if (unit.unit.pass == TrainPass::update) return share_of_update(unit.unit.node);
    if (is_loss(recipe_.network.nodes[unit.unit.node].op)) return all.traces().on_host("loss");
    if (unit.unit.pass == TrainPass::forward) return all.on_host(unit, "forward");
    const Nanoseconds both = all.on_host(unit, "backward");
    if (unit.is_fixed || device_.empty()) return both;
    const Nanoseconds gradient = steps_[2]->on_host(unit, "backward");
    const Nanoseconds error = steps_[3]->on_host(unit, "backward");
    const bool has_error =
        measured_.graph.find({unit.unit.node, TrainPass::input_error}) != nullptr;
    if (!has_error || gradient + error == 0) return both;
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
    return steps_[0]->traces().on_host("update") * own / all;
  }

  Nanoseconds time_there(const PlacedUnit& unit) const {
    const auto words = [&]() -> std::string {
      if (unit.unit.pass == TrainPass::forward) return " forward";
      return unit.unit.pass == TrainPass::input_error ? " input error" : " weight gradient";
    };
    return all_there().traces().on_device(unit.node + words());
  }

  // What is left for the host where the device computes: roundings, and asking.
  Nanoseconds asking(const PlacedUnit& unit) const {
    if (unit.unit.pass == TrainPass::forward) return all_there().on_host(unit, "forward");
    return unit.unit.pass == TrainPass::weight_gradient ? all_there().on_host(unit, "backward") : 0;
  }

  // The host packs and unpacks its side of a copy, the device its own. Biases go with weights.
  std::array<CopyCost, 2> copies_of(const Flow& flow) const {
    const TraceTimes& traces = all_there().traces();
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
    mixed.push_back({all_on(graph, 1), all_there().usual()});
    for (const auto& [pass, number] :
         {std::pair{TrainPass::input_error, 2}, std::pair{TrainPass::weight_gradient, 3}}) {
      Sides sides = all_on(graph, 1);
      for (std::size_t i = 0; i < sides.size(); ++i) {
        if (graph.units[i].unit.pass != pass) sides[i] = 0;
      }
      mixed.push_back({std::move(sides), steps_[static_cast<std::size_t>(number)]->usual()});
    }
    constexpr std::uint32_t kByChance = 6;
    for (std::uint32_t number = 0; number < kByChance; ++number) {
      const Sides sides = sides_by_chance(graph, number);
      FloatTrial trial(recipe_, rules_of(recipe_.network, graph, sides, {"cpu", device_}), images_);
      for (int i = 0; i < 2; ++i) trial.step();
      mixed.push_back({sides, trial.usual_step()});
    }
    return mixed;
  }

  const Recipe& recipe_;
  std::int64_t images_;
  std::string device_;
  MeasuredStep measured_;
  std::vector<std::unique_ptr<WatchedSteps>> steps_;  // as places_with says
};

}  // namespace

MeasuredStep measure_float_step(const Recipe& recipe, std::int64_t images,
                                const std::string& device) {
  return FloatMeasurer(recipe, images, device).measure();
}

}  // namespace nibble::inline placement
