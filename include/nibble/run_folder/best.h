// SPDX-License-Identifier: Apache-2.0
// The best value of a metric so far, and when a run that no longer improves ends.
#pragma once

#include <cstdint>
#include <string_view>

namespace nibble::inline run_folder {

struct EpochRow;

// The metrics that a schedule or early stopping may watch.
enum class Metric : std::uint8_t { train_loss, train_top1, val_loss, val_top1 };

std::string_view name_of(Metric metric);  // "val_loss"
Metric metric_by_name(std::string_view name);
bool is_lower_better(Metric metric);

// Out of an epoch's row; without a validation split the train split stands in for it.
double metric_of(const EpochRow& row, Metric metric);

// Whether `value` beats `best` by more than `min_change`; NaN beats nothing.
bool is_better(Metric metric, double value, double best, double min_change = 0);

struct BestSoFar {
  Metric metric = Metric::val_top1;
  double value = 0;
  std::int64_t epoch = -1;  // -1: nothing seen yet

  bool has_value() const { return epoch >= 0; }
  // True where `value` is a new best; of equal values the first stays.
  bool update(double candidate, std::int64_t candidate_epoch, double min_change = 0);

  bool operator==(const BestSoFar&) const = default;
};

struct EarlyStopping {
  Metric metric = Metric::val_top1;
  std::int64_t patience = 0;  // epochs without improvement before the run ends; 0: never
  double min_change = 0;
};

struct EarlyStoppingState {
  BestSoFar best = {};
  std::int64_t epochs_without = 0;

  bool operator==(const EarlyStoppingState&) const = default;
};

// One epoch; true where the run should end now.
bool update(const EarlyStopping& rule, EarlyStoppingState& state, double value, std::int64_t epoch);

}  // namespace nibble::inline run_folder
