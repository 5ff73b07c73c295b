// SPDX-License-Identifier: Apache-2.0
// Steps of integer training as plans see them.
#include "placement/integer_work.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "nibble/graph/network_text.h"
#include "placement/measure.h"

namespace nibble::inline placement {
namespace {

std::string name_of(const RoundingChoice& choice) {
  return fmt::format("{} {} {}", name_of(choice.value), name_of(choice.error),
                     name_of(choice.gradient));
}

// Not how large a step is, which changes from step to step and is no work.
std::string name_of(const ShiftUpdate& rule) {
  return fmt::format("shift fraction {} momentum {} decay {}", rule.fraction_bits, rule.momentum,
                     rule.has_decay);
}
std::string name_of(const SgdUpdate& rule) {
  return fmt::format("sgd fraction {} momentum {} decay {} of norms {} nesterov {}",
                     rule.fraction_bits, rule.momentum, rule.decay.mantissa != 0,
                     rule.has_norm_decay, rule.looks_ahead);
}

class IntegerWork final : public PlannedWork {
 public:
  IntegerWork(const Network& network, const IntegerOptions& options, const PlanRequest& request)
      : network_(network),
        options_(options),
        images_(request.images),
        most_memory_(request.most_memory) {
    backends_[0] = make_backend(request.devices[0]);
    backends_[1] =
        request.devices[1] == request.devices[0] ? backends_[0] : make_backend(request.devices[1]);
  }

  const Network& network() const override { return network_; }
  std::string name() const override {
    return name_within(work_name(network_, options_, images_), most_memory_);
  }
  std::array<std::string, 2> hardware() const override {
    return {backends_[0]->identity(), backends_[1]->identity()};
  }
  bool has_one_result() const override { return true; }
  std::int64_t free_bytes() const override { return backends_[1]->free_bytes(); }
  StepGraph graph() const override {
    const IntegerTape tape(network_, options_.roundings, Placement(backends_[0]), options_.frozen);
    return step_graph(network_, tape, images_);
  }
  MeasuredStep measure() const override {
    return measure_step(network_, options_, images_, backends_, most_memory_);
  }
  std::unique_ptr<TimedSteps> trial(const StepGraph& graph, const Sides& sides) const override {
    return std::make_unique<StepTrial>(network_, options_, images_,
                                       placement_of_sides(network_, graph, sides, backends_));
  }

 private:
  const Network& network_;
  const IntegerOptions& options_;
  std::int64_t images_;
  std::int64_t most_memory_;
  Backends backends_;
};

}  // namespace

std::string work_name(const Network& network, const IntegerOptions& options, std::int64_t images) {
  const std::string text = to_toml(network);
  std::string name = fmt::format(
      "{} {} batch {} shifts {} form {} statistics {} update {} round {}", network.name,
      hex(hash_of(std::as_bytes(std::span(text)))), images, static_cast<int>(options.rule),
      static_cast<int>(options.form), static_cast<int>(options.statistics),
      std::visit([](const auto& rule) { return name_of(rule); }, options.update),
      name_of(options.roundings.all));
  for (const auto& [layer, choice] : options.roundings.layers)
    name += fmt::format(", {} {}", layer, name_of(choice));
  for (const std::string& layer : options.frozen) name += ", frozen " + layer;
  return name;
}

std::unique_ptr<PlannedWork> integer_work(const Network& network, const IntegerOptions& options,
                                          const PlanRequest& request) {
  return std::make_unique<IntegerWork>(network, options, request);
}

StepPlan plan_step(const Network& network, const IntegerOptions& options,
                   const PlanRequest& request) {
  return plan_steadily(
      [&](const PlanRequest& each) { return integer_work(network, options, each); }, request);
}

}  // namespace nibble::inline placement
