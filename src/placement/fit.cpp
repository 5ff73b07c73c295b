// SPDX-License-Identifier: Apache-2.0
// Stretches costs until time lines are as long as steps.
#include "placement/fit.h"

#include <algorithm>
#include <cstdlib>

#include "placement/planned_work.h"
#include "placement/time_line.h"

namespace nibble::inline placement {
namespace {

// In thousandths of what was measured.
struct Stretch {
  std::int64_t copies = 1000;
  std::int64_t wakes = 1000;
};

StepCosts stretched(const StepCosts& costs, const Stretch& by) {
  StepCosts scaled = costs;
  const auto scale = [&](Nanoseconds& time) { time = time * by.copies / 1000; };
  for (auto& ways : scaled.copies) {
    for (CopyCost& each : ways) {
      for (Nanoseconds* part : {&each.leave, &each.travel, &each.ask, &each.arrive}) scale(*part);
    }
  }
  for (Nanoseconds& each : scaled.wakes) each = each * by.wakes / 1000;
  return scaled;
}

// What is predicted of each mixed step, in thousandths of what it took.
std::vector<std::int64_t> shares_of(const std::vector<MixedStep>& mixed, const StepGraph& graph,
                                    const StepCosts& costs) {
  std::vector<std::int64_t> shares;
  for (const MixedStep& each : mixed)
    shares.push_back(1000 * time_line(graph, costs, each.sides).length / each.time);
  return shares;
}

}  // namespace

void fit_to_step(const StepGraph& graph, std::uint8_t side, Nanoseconds step, StepCosts& costs) {
  const Sides all = all_on(graph, side);
  for (int round = 0; round < 4; ++round) {  // what the host asks is not in proportion
    const Nanoseconds predicted = time_line(graph, costs, all).length;
    if (predicted <= 0) return;
    for (auto& each : costs.units) each[side] = each[side] * step / predicted;
    for (auto& each : costs.asks) each[side] = std::min(each[side], each[side] * step / predicted);
  }
}

StepCosts fitted_to(const std::vector<MixedStep>& mixed, const StepGraph& graph,
                    const StepCosts& costs) {
  constexpr std::int64_t kAsCopies = -1;
  StepCosts best;
  std::int64_t least_error = INT64_MAX;
  for (const std::int64_t wakes :
       {kAsCopies, std::int64_t{0}, std::int64_t{500}, std::int64_t{1000}, std::int64_t{2000}}) {
    const auto tried = [&](std::int64_t copies) {
      return stretched(costs, {copies, wakes == kAsCopies ? copies : wakes});
    };
    std::int64_t least = 100;
    std::int64_t most = 4000;
    while (most - least > 1) {
      const std::int64_t middle = (least + most) / 2;
      (median_of(shares_of(mixed, graph, tried(middle))) > 1000 ? most : least) = middle;
    }
    std::int64_t error = 0;
    for (const std::int64_t share : shares_of(mixed, graph, tried(least)))
      error += std::abs(share - 1000);
    if (error >= least_error) continue;
    least_error = error;
    best = tried(least);
  }
  return best;
}

}  // namespace nibble::inline placement
