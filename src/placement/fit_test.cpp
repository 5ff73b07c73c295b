// SPDX-License-Identifier: Apache-2.0
// Copies that were measured too long, or too short, are what steps say they are.
#include "placement/fit.h"

#include <gtest/gtest.h>

#include "placement/placement_test_support.h"
#include "placement/time_line.h"

namespace nibble::inline placement {
namespace {

TEST(MeasuredCopies, AreFittedToWhatMixedStepsTook) {
  Draws draws(3);
  const StepGraph graph = random_graph(30, draws);
  StepCosts real = random_costs(graph, draws);
  real.runs_ahead = {false, true};
  real.wakes = {0, 40};
  for (std::size_t i = 0; i < graph.flows.size(); ++i)
    real.copies.push_back({CopyCost{100, 400, 80, 60}, CopyCost{90, 500, 120, 0}});
  std::vector<MixedStep> mixed;
  for (std::uint32_t i = 0; i < 9; ++i) {
    const Sides sides = sides_by_chance(graph, i);
    mixed.push_back({sides, time_line(graph, real, sides).length});
  }
  for (const auto& [times, parts] : {std::pair{5, 1}, {1, 3}, {1, 1}}) {
    StepCosts measured = real;
    for (auto& ways : measured.copies) {
      for (CopyCost& each : ways) {
        for (Nanoseconds* part : {&each.leave, &each.travel, &each.ask, &each.arrive})
          *part = *part * times / parts;
      }
    }
    measured.wakes[1] = real.wakes[1] * times / parts;
    const StepCosts fitted = fitted_to(mixed, graph, measured);
    EXPECT_EQ(fitted.units, real.units);
    for (std::uint32_t i = 100; i < 110; ++i) {  // of which it has seen none
      const Sides sides = sides_by_chance(graph, i);
      const auto wanted = static_cast<double>(time_line(graph, real, sides).length);
      EXPECT_NEAR(static_cast<double>(time_line(graph, fitted, sides).length), wanted, wanted / 50);
    }
  }
}

}  // namespace
}  // namespace nibble::inline placement
