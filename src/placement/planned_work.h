// SPDX-License-Identifier: Apache-2.0
// What a plan asks of a kind of training: the graph of its step, what it costs, and real steps.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "nibble/graph/network.h"
#include "placement/costs.h"

namespace nibble::inline placement {

Nanoseconds now();

struct MeasuredStep {
  StepGraph graph;
  StepCosts costs;
  std::array<Nanoseconds, 2> idle{};  // asking a device for next to nothing, there and back
};

// Steps of a network on made-up numbers under some placement.
class TimedSteps {
 public:
  virtual ~TimedSteps() = default;
  // From its begin until every device is done.
  virtual Nanoseconds step() = 0;
  // The median of some steps, more of them where they are short.
  Nanoseconds usual_step();
};

class PlannedWork {
 public:
  virtual ~PlannedWork() = default;
  virtual const Network& network() const = 0;
  // Under which its costs are kept: of the work, and of both devices, as they say themselves.
  virtual std::string name() const = 0;
  virtual std::array<std::string, 2> hardware() const = 0;
  virtual bool has_one_result() const = 0;      // whether weights do not depend on the placement
  virtual std::int64_t free_bytes() const = 0;  // of the second device; 0: it does not say
  virtual StepGraph graph() const = 0;
  virtual MeasuredStep measure() const = 0;
  virtual std::unique_ptr<TimedSteps> trial(const StepGraph& graph, const Sides& sides) const = 0;
};

// Calls body at least three times, and more often where that does not take long.
template <class Body>
void in_turns(const Body& body) {
  constexpr int kLeast = 3;
  constexpr int kMost = 13;
  constexpr Nanoseconds kEnough = 2'400'000'000;
  const Nanoseconds begin = now();
  for (int turn = 0; turn < kMost && (turn < kLeast || now() - begin < kEnough); ++turn) body();
}

Nanoseconds median_of(std::vector<Nanoseconds> times);

// Of costs that were measured with so many bytes on the second device at most; 0: any.
std::string name_within(std::string name, std::int64_t most_memory);

}  // namespace nibble::inline placement
