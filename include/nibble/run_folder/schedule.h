// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules as data: a text form, and the rate as a function of the position in a
// run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nibble/run_folder/best.h"

namespace nibble::inline run_folder {

struct ConstantRate {
  bool operator==(const ConstantRate&) const = default;
};

// base · factor^(number of milestones at or before the epoch)
struct StepRate {
  std::vector<double> milestones = {};  // in epochs, ascending
  double factor = 0.1;
  bool operator==(const StepRate&) const = default;
};

// The rate of the last pair at or before the epoch, base before the first. Rates are absolute.
struct ListedRate {
  std::vector<std::pair<double, double>> values = {};  // (epoch, rate), epochs ascending
  bool operator==(const ListedRate&) const = default;
};

// base · (floor + (1 - floor) · (1 + cos πt) / 2), t from 0 at the end of warm-up to 1 at the end.
struct CosineRate {
  double floor = 0;  // a share of base
  bool is_by_epoch = false;
  bool operator==(const CosineRate&) const = default;
};

// Flat until t = start, a straight line to `floor` at t = end, then flat; t is the share of `over`
// epochs. QPyTorch's lp_train is linear(by=epoch); SWALP's is over the epochs before averaging
// begins, with floor = averaging rate / base rate.
struct LinearRate {
  double start = 0.5;
  double end = 0.9;
  double floor = 0.01;  // a share of base
  double over = 0;      // epochs; 0: all of the run
  bool is_by_epoch = false;
  bool operator==(const LinearRate&) const = default;
};

// Half a cosine from base · start up to base at t = peak, and half a cosine down to base · floor at
// the end; t is the share of the run. PyTorch's OneCycleLR, by its usual numbers.
struct OneCycleRate {
  double peak = 0.3;
  double start = 0.04;  // a share of base
  double floor = 4e-6;  // and at the end
  bool operator==(const OneCycleRate&) const = default;
};

// base · factor^(reductions), one more each time `metric` did not improve by more than min_change
// for more than `patience` epochs.
struct PlateauRate {
  double factor = 0.1;
  std::int64_t patience = 10;
  double min_change = 0;
  Metric metric = Metric::val_loss;
  bool operator==(const PlateauRate&) const = default;
};

// In front of any schedule: over the first `length` the rate is multiplied by a line from `start`
// to 1. Only the cosine begins after it; milestones and shares count from the start of the run.
struct WarmUp {
  double length = 0;
  bool is_in_steps = false;  // else in epochs
  double start = 0;
  bool operator==(const WarmUp&) const = default;
};

struct Schedule {
  std::variant<ConstantRate, StepRate, ListedRate, CosineRate, LinearRate, OneCycleRate,
               PlateauRate>
      rate = {};
  WarmUp warm_up = {};
  bool operator==(const Schedule&) const = default;
};

// Where a run stands before a step is taken. Its last step is steps_per_epoch · epochs - 1.
struct RunPosition {
  std::int64_t step = 0;
  std::int64_t steps_per_epoch = 1;
  std::int64_t epochs = 1;
};

// What a plateau schedule remembers; part of a checkpoint. Others leave it alone.
struct PlateauState {
  BestSoFar best = {};
  std::int64_t epochs_without = 0;
  std::int64_t reductions = 0;
  bool operator==(const PlateauState&) const = default;
};

double rate_at(const Schedule& schedule, double base_rate, const RunPosition& position,
               const PlateauState& plateau = {});

// At the end of an epoch, with the metric the plateau watches; true where the rate goes down.
bool update(const PlateauRate& rule, PlateauState& state, double value, std::int64_t epoch);

// The text form, the same on the command line and in TOML:
//   constant                          step(60,80;0.1)         values(0:0.1,60:0.01)
//   cosine   cosine(0.01,by=epoch)    linear linear(0.5,0.9,0.01,over=161,by=epoch) plateau(0.1,5)
//   plateau(0.1,5,min_change=0.001,watch=val_top1) warmup(5)+cosine    onecycle(0.3,0.04,4e-06)
//   warmup(500,steps,start=0.1)+step(60;0.2)
// Errors name the column. to_string gives the shortest text that parses to the same schedule.
Schedule parse_schedule(std::string_view text);
std::string to_string(const Schedule& schedule);

}  // namespace nibble::inline run_folder
