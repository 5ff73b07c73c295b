// SPDX-License-Identifier: Apache-2.0
// The figures by which runs are judged. An unfinished run tells of its last epoch.
#include "report/run_record.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace nibble::inline report {
namespace {

// The last epoch that has it.
double last_of(const RunRecord& run, double EpochRecord::*field) {
  for (auto it = run.epochs.rbegin(); it != run.epochs.rend(); ++it) {
    if (!std::isnan((*it).*field)) return (*it).*field;
  }
  return kAbsent;
}

double evaluated(const RunRecord& run, std::optional<EvaluationRecord> SummaryRecord::*split,
                 double EvaluationRecord::*field, double EpochRecord::*otherwise) {
  if (run.summary && (*run.summary).*split) {
    const double value = (*((*run.summary).*split)).*field;
    if (!std::isnan(value)) return value;
  }
  return otherwise != nullptr ? last_of(run, otherwise) : kAbsent;
}

double summed_seconds(const RunRecord& run) {
  if (run.summary && !std::isnan(run.summary->seconds)) return run.summary->seconds;
  double sum = kAbsent;
  for (const EpochRecord& epoch : run.epochs) {
    if (!std::isnan(epoch.seconds)) sum = (std::isnan(sum) ? 0 : sum) + epoch.seconds;
  }
  return sum;
}

double best_val(const RunRecord& run) {
  if (run.summary && !std::isnan(run.summary->best_val_top1)) return run.summary->best_val_top1;
  double best = kAbsent;
  for (const EpochRecord& epoch : run.epochs) best = std::fmax(best, epoch.val_top1);
  return best;
}

double epochs_done(const RunRecord& run) {
  if (run.summary && !std::isnan(run.summary->epochs)) return run.summary->epochs;
  return run.epochs.empty() ? kAbsent : static_cast<double>(run.epochs.back().epoch);
}

constexpr auto kTest = &SummaryRecord::test;

constexpr std::array kKinds = {
    ResultKind{"test_top1", "test top-1", ResultUnit::share,
               [](const RunRecord& run) {
                 return evaluated(run, kTest, &EvaluationRecord::top1, &EpochRecord::test_top1);
               }},
    ResultKind{"test_top5", "test top-5", ResultUnit::share,
               [](const RunRecord& run) {
                 return evaluated(run, kTest, &EvaluationRecord::top5, nullptr);
               }},
    ResultKind{"test_loss", "test loss", ResultUnit::number,
               [](const RunRecord& run) {
                 return evaluated(run, kTest, &EvaluationRecord::loss, &EpochRecord::test_loss);
               }},
    ResultKind{"best_val_top1", "best val top-1", ResultUnit::share, best_val},
    ResultKind{
        "best_epoch", "best epoch", ResultUnit::count,
        [](const RunRecord& run) { return run.summary ? run.summary->best_epoch : kAbsent; }},
    ResultKind{"train_loss", "train loss", ResultUnit::number,
               [](const RunRecord& run) { return last_of(run, &EpochRecord::train_loss); }},
    ResultKind{"epochs", "epochs", ResultUnit::count, epochs_done},
    ResultKind{"seconds", "time", ResultUnit::seconds, summed_seconds},
    ResultKind{"peak_memory_mib", "peak memory", ResultUnit::mebibytes, [](const RunRecord& run) {
                 return run.summary ? run.summary->peak_memory_mib : kAbsent;
               }}};

}  // namespace

std::span<const ResultKind> result_kinds() {
  return kKinds;
}

std::string shown_share(double share) {
  return std::isnan(share) ? "" : fmt::format("{:.2f} %", 100 * share);
}

std::string shown_time(double seconds) {
  if (!(std::abs(seconds) < 1e12)) return std::isnan(seconds) ? "" : "for ever";
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string shown(const ResultKind& kind, double value) {
  if (std::isnan(value)) return "";
  switch (kind.unit) {
    case ResultUnit::share:
      return shown_share(value);
    case ResultUnit::seconds:
      return shown_time(value);
    case ResultUnit::mebibytes:
      return fmt::format("{:.0f} MiB", value);
    case ResultUnit::number:
      return fmt::format("{:.4f}", value);
    case ResultUnit::count:
      break;
  }
  return fmt::format("{:.0f}", value);
}

}  // namespace nibble::inline report
