// SPDX-License-Identifier: Apache-2.0
// A session that outlives its device: where one is lost, the step that failed is made again, and
// all others after it, on the CPU. Weights and all that an optimizer knows are the host's at any
// time; what a step changes before its update is kept from its begin.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "float_training/session.h"

namespace nibble::inline float_training {

class SteadyFloatSession {
 public:
  explicit SteadyFloatSession(const Recipe& recipe);  // as Session

  // Calls `attempt` with the session, and once more with the one that follows it where a device
  // was lost before the update; says so in one line. Over an fp32 wire, with a device that gives
  // the CPU's bits, the weights are those that they would have been.
  StepResult step(const std::function<StepResult(Session&)>& attempt);

  Session* operator->() { return session_.get(); }
  const Session* operator->() const { return session_.get(); }

 private:
  void keep_moments();
  void go_on_without_device();

  const Recipe& recipe_;
  std::optional<Recipe> on_cpu_;  // once the device is lost
  std::unique_ptr<Session> session_;
  std::vector<Tensor> moments_;  // from the begin of the step
};

}  // namespace nibble::inline float_training
