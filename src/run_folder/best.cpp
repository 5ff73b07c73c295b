// SPDX-License-Identifier: Apache-2.0
// Which value is better, and for how long none was.
#include "nibble/run_folder/best.h"

#include <array>

#include "nibble/core/error.h"
#include "run_folder/run_rows.h"
#include "run_folder/words.h"

namespace nibble::inline run_folder {
namespace {

constexpr std::array kMetrics{Metric::train_loss, Metric::train_top1, Metric::val_loss,
                              Metric::val_top1};

}  // namespace

std::string_view name_of(Metric metric) {
  switch (metric) {
    case Metric::train_loss:
      return "train_loss";
    case Metric::train_top1:
      return "train_top1";
    case Metric::val_loss:
      return "val_loss";
    case Metric::val_top1:
      return "val_top1";
  }
  return "unknown";
}

Metric metric_by_name(std::string_view name) {
  std::string expected = "one of";
  for (const Metric metric : kMetrics) {
    if (name_of(metric) == name) return metric;
    expected.append(" ").append(name_of(metric));
  }
  throw Error("metric", "name", "'" + std::string(name) + "'", expected);
}

bool is_lower_better(Metric metric) {
  return metric == Metric::train_loss || metric == Metric::val_loss;
}

double metric_of(const EpochRow& row, Metric metric) {
  const bool is_held_out = metric == Metric::val_loss || metric == Metric::val_top1;
  const bool has_split = is_held_out && row.val_loss.has_value();
  if (metric == Metric::val_loss || metric == Metric::train_loss) {
    return has_split ? *row.val_loss : row.train_loss.value_or(0);
  }
  return has_split ? row.val_top1.value_or(0) : row.train_top1.value_or(0);
}

bool is_better(Metric metric, double value, double best, double min_change) {
  return is_lower_better(metric) ? value < best - min_change : value > best + min_change;
}

bool BestSoFar::update(double candidate, std::int64_t candidate_epoch, double min_change) {
  const bool is_number = candidate == candidate;
  const bool is_new = has_value() ? is_better(metric, candidate, value, min_change) : is_number;
  if (is_new) {
    value = candidate;
    epoch = candidate_epoch;
  }
  return is_new;
}

bool update(const EarlyStopping& rule, EarlyStoppingState& state, double value,
            std::int64_t epoch) {
  state.best.metric = rule.metric;
  const bool is_new = state.best.update(value, epoch, rule.min_change);
  state.epochs_without = is_new ? 0 : state.epochs_without + 1;
  return rule.patience > 0 && state.epochs_without >= rule.patience;
}

void put_words(Words& words, const std::string& prefix, const BestSoFar& best) {
  put_text(words, prefix + "metric", name_of(best.metric));
  put_number(words, prefix + "value", best.value);
  put_integer(words, prefix + "epoch", best.epoch);
}

void put_words(Words& words, const std::string& prefix, const EarlyStoppingState& state) {
  put_words(words, prefix, state.best);
  put_integer(words, prefix + "epochs_without", state.epochs_without);
}

BestSoFar best_words(const Words& words, const std::string& prefix) {
  return {.metric = metric_by_name(text_word(words, prefix + "metric")),
          .value = number_word(words, prefix + "value"),
          .epoch = integer_word(words, prefix + "epoch")};
}

EarlyStoppingState early_stopping_words(const Words& words, const std::string& prefix) {
  return {.best = best_words(words, prefix),
          .epochs_without = integer_word(words, prefix + "epochs_without")};
}

}  // namespace nibble::inline run_folder
