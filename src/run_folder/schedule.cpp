// SPDX-License-Identifier: Apache-2.0
// The rate of a schedule at a position.
#include "nibble/run_folder/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nibble/core/error.h"
#include "run_folder/words.h"

namespace nibble::inline run_folder {
namespace {

struct Time {
  double epoch;         // with its fraction
  double whole_epoch;   // without
  double epochs;        // of the run
  double warm_up;       // epochs of warm-up
  std::int64_t powers;  // reductions of a plateau
};

// factor^count by repeated multiplication: the same bits on every machine.
double power(double factor, std::int64_t count) {
  double value = 1;
  for (std::int64_t i = 0; i < count && value != 0; ++i) value *= factor;
  return value;
}

double rate_of(const ConstantRate&, double base, const Time&) {
  return base;
}

double rate_of(const StepRate& s, double base, const Time& time) {
  const auto passed = std::count_if(s.milestones.begin(), s.milestones.end(),
                                    [&](double milestone) { return milestone <= time.epoch; });
  return base * power(s.factor, passed);
}

double rate_of(const ListedRate& s, double base, const Time& time) {
  for (const auto& [epoch, rate] : s.values) {
    if (epoch > time.epoch) break;
    base = rate;
  }
  return base;
}

double rate_of(const CosineRate& s, double base, const Time& time) {
  const double epoch = s.is_by_epoch ? time.whole_epoch : time.epoch;
  const double length = time.epochs - time.warm_up;
  if (length <= 0) return base;
  const double t = std::clamp((epoch - time.warm_up) / length, 0.0, 1.0);
  return base * (s.floor + (1 - s.floor) * (1 + std::cos(std::numbers::pi * t)) / 2);
}

double rate_of(const LinearRate& s, double base, const Time& time) {
  const double t =
      (s.is_by_epoch ? time.whole_epoch : time.epoch) / (s.over > 0 ? s.over : time.epochs);
  if (t <= s.start) return base;
  if (t > s.end) return base * s.floor;
  return base * (1 - (1 - s.floor) * (t - s.start) / (s.end - s.start));
}

double half_cosine_of(double t) {
  return (1 + std::cos(std::numbers::pi * t)) / 2;
}

double rate_of(const OneCycleRate& s, double base, const Time& time) {
  const double t = std::min(time.epoch / time.epochs, 1.0);
  if (t < s.peak) return base * (1 - (1 - s.start) * half_cosine_of(t / s.peak));
  if (s.peak >= 1) return base;
  return base * (s.floor + (1 - s.floor) * half_cosine_of((t - s.peak) / (1 - s.peak)));
}

double rate_of(const PlateauRate& s, double base, const Time& time) {
  return base * power(s.factor, time.powers);
}

void check(const RunPosition& position) {
  if (position.step < 0)
    throw Error("schedule", "step", std::to_string(position.step), "0 or more");
  if (position.steps_per_epoch < 1) {
    throw Error("schedule", "steps an epoch", std::to_string(position.steps_per_epoch),
                "1 or more");
  }
  if (position.epochs < 1) {
    throw Error("schedule", "epochs", std::to_string(position.epochs), "1 or more");
  }
}

}  // namespace

double rate_at(const Schedule& schedule, double base_rate, const RunPosition& position,
               const PlateauState& plateau) {
  check(position);
  const auto steps_per_epoch = static_cast<double>(position.steps_per_epoch);
  const auto step = static_cast<double>(position.step);
  const std::int64_t whole_epochs = position.step / position.steps_per_epoch;
  const WarmUp& w = schedule.warm_up;
  const double warm_up_steps = w.is_in_steps ? w.length : w.length * steps_per_epoch;
  const Time time{
      .epoch = step / steps_per_epoch,
      .whole_epoch = static_cast<double>(whole_epochs),
      .epochs = static_cast<double>(position.epochs),
      .warm_up = warm_up_steps / steps_per_epoch,
      .powers = plateau.reductions,
  };
  const double rate =
      std::visit([&](const auto& kind) { return rate_of(kind, base_rate, time); }, schedule.rate);
  if (step >= warm_up_steps) return rate;
  return rate * (w.start + (1 - w.start) * (step / warm_up_steps));
}

bool update(const PlateauRate& rule, PlateauState& state, double value, std::int64_t epoch) {
  state.best.metric = rule.metric;
  if (state.best.update(value, epoch, rule.min_change)) {
    state.epochs_without = 0;
    return false;
  }
  if (++state.epochs_without <= rule.patience) return false;
  state.epochs_without = 0;
  ++state.reductions;
  return true;
}

void put_words(Words& words, const std::string& prefix, const PlateauState& state) {
  put_words(words, prefix, state.best);
  put_integer(words, prefix + "epochs_without", state.epochs_without);
  put_integer(words, prefix + "reductions", state.reductions);
}

PlateauState plateau_words(const Words& words, const std::string& prefix) {
  return {.best = best_words(words, prefix),
          .epochs_without = integer_word(words, prefix + "epochs_without"),
          .reductions = integer_word(words, prefix + "reductions")};
}

}  // namespace nibble::inline run_folder
