// SPDX-License-Identifier: Apache-2.0
// Steps of float training as plans see them.
#include "placement/float_work.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "float_training/float_device.h"
#include "float_training/session.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "placement/float_graph.h"
#include "placement/float_measure.h"
#include "placement/float_trial.h"

namespace nibble::inline placement {
namespace {

class FloatWork final : public PlannedWork {
 public:
  FloatWork(const Recipe& recipe, const PlanRequest& request)
      : recipe_(with_whole_policy(recipe)),
        devices_(request.devices),
        hardware_(request.devices),
        images_(request.images),
        most_memory_(request.most_memory) {
    if (devices_[1] == devices_[0]) return;
    const std::unique_ptr<FloatDevice> device = make_float_device(devices_[1]);
    free_bytes_ = device->free_bytes();
    hardware_[1] = device->identity();
  }

  const Network& network() const override { return recipe_.network; }

  // All settings but those that say nothing of a step.
  std::string name() const override {
    Recipe step = recipe_;
    step.place = "auto";
    step.seed = 0;
    step.epochs = 1;
    const std::string text = to_json(step) + to_toml(step.network);
    return name_within(fmt::format("{} floats batch {} {}", step.network.name, images_,
                                   hex(hash_of(std::as_bytes(std::span(text))))),
                       most_memory_);
  }
  std::array<std::string, 2> hardware() const override { return hardware_; }
  bool has_one_result() const override { return false; }
  std::int64_t free_bytes() const override { return free_bytes_; }
  StepGraph graph() const override { return float_step_graph(recipe_, images_); }
  MeasuredStep measure() const override {
    return measure_float_step(recipe_, images_, devices_[1] == devices_[0] ? "" : devices_[1],
                              most_memory_);
  }
  std::unique_ptr<TimedSteps> trial(const StepGraph& graph, const Sides& sides) const override {
    return std::make_unique<FloatTrial>(recipe_, rules_of(recipe_.network, graph, sides, devices_),
                                        images_);
  }

 private:
  Recipe recipe_;
  std::array<std::string, 2> devices_;
  std::array<std::string, 2> hardware_;
  std::int64_t images_;
  std::int64_t most_memory_;
  std::int64_t free_bytes_ = 0;
};

}  // namespace

std::unique_ptr<PlannedWork> float_work(const Recipe& recipe, const PlanRequest& request) {
  if (request.devices[0] != "cpu")
    throw Error("place", "first device of float training", request.devices[0],
                "cpu, which computes all but products", ErrorKind::usage);
  return std::make_unique<FloatWork>(recipe, request);
}

StepPlan plan_step(const Recipe& recipe, const PlanRequest& request) {
  return plan_steadily([&](const PlanRequest& each) { return float_work(recipe, each); }, request);
}

}  // namespace nibble::inline placement
