// SPDX-License-Identifier: Apache-2.0
// Steps of integer training as plans see them.
#include "placement/integer_work.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "nibble/graph/network_text.h"
#include "placement/measure.h"

namespace nibble::inline placement {
namespace {

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
  std::string frozen;
  for (const std::string& each : options.frozen) frozen += " " + each;
  return fmt::format("{} {} batch {} update {} rule {}{}", network.name,
                     hex(hash_of(std::as_bytes(std::span(text)))), images, options.update.index(),
                     static_cast<int>(options.rule), frozen);
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
