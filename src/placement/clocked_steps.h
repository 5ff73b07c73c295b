// SPDX-License-Identifier: Apache-2.0
// Steps of integer training under one placement, some of them watched unit by unit.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "placement/step_trial.h"

namespace nibble::inline placement {

// With an exponent of its own.
Values values_on(IntegerBackend& backend, const Picture& picture, std::int64_t images);

// Waits before and after a unit until `all` have nothing to do, so that the clock sees this unit
// alone.
class UnitClock final : public StepWatcher {
 public:
  using All = std::vector<std::shared_ptr<IntegerBackend>>;
  explicit UnitClock(All all);

  void begin(StepUnit unit, IntegerBackend& backend) override;
  void end(StepUnit unit, IntegerBackend& backend) override;
  void end_step();
  void forget() { step_.clear(); }

  // Medians over steps; 0: never seen.
  Nanoseconds of(StepUnit unit) const { return median_in(times_, unit); }
  Nanoseconds ask_of(StepUnit unit) const { return median_in(asks_, unit); }
  // What waiting for next to nothing takes; 0 of one that does not run ahead.
  Nanoseconds idle(const IntegerBackend& backend) const;

 private:
  using Times = std::map<StepUnit, std::vector<Nanoseconds>>;
  struct Spent {
    Nanoseconds all = 0;
    Nanoseconds ask = 0;
  };
  static Nanoseconds median_in(const Times& times, StepUnit unit);

  All all_;
  std::vector<Nanoseconds> idle_;
  Nanoseconds begin_ = 0;
  std::map<StepUnit, Spent> step_;
  Times times_;
  Times asks_;
};

class ClockedSteps {
 public:
  // `all` are the placement's backends.
  ClockedSteps(const Network& network, const IntegerOptions& options, std::int64_t images,
               Placement placement, UnitClock::All all);

  // First steps find caches that the other device, or watching, has used.
  void take_turn();
  // What a step takes at this moment.
  Nanoseconds again() { return trial_.usual_step(); }

  StepTrial& trial() { return trial_; }
  IntegerTape& tape() { return trial_.tape(); }
  const UnitClock& clock() const { return clock_; }
  Nanoseconds median() const { return median_of(times_); }  // of steps that nobody watched

 private:
  template <class Work>
  void watch(const Work& work);

  StepTrial trial_;
  UnitClock clock_;
  std::vector<Nanoseconds> times_;
};

}  // namespace nibble::inline placement
