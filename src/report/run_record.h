// SPDX-License-Identifier: Apache-2.0
// What a run folder tells, read back: settings, curves, layers, integers, histograms, and the
// results by which runs are judged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/histogram_grid.h"

namespace nibble::inline report {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

// A row of epochs.csv; top-1 is a share, 0 to 1. What was not measured is kAbsent.
struct EpochRecord {
  std::int64_t epoch = 0;
  double step = kAbsent;
  double learning_rate = kAbsent;
  double train_loss = kAbsent;
  double train_top1 = kAbsent;
  double val_loss = kAbsent;
  double val_top1 = kAbsent;
  double test_loss = kAbsent;
  double test_top1 = kAbsent;
  double seconds = kAbsent;
  double images_per_second = kAbsent;
};

// A row of layers.csv: what rounding did to a role of a layer.
struct RoundingRecord {
  std::int64_t epoch = 0;
  std::string layer = {};
  std::string role = {};
  std::string format = {};
  double elements = kAbsent;
  double min = kAbsent;
  double max = kAbsent;
  double mean = kAbsent;
  double deviation = kAbsent;
  double sqnr_db = kAbsent;  // infinite where nothing was lost
  double share_saturated = kAbsent;
  double share_flushed = kAbsent;
};

// A row of integers.csv, of a run of integers alone.
struct IntegerRecord {
  std::int64_t epoch = 0;
  std::string layer = {};
  std::string tensor = {};  // value, error, errors (where two meet), weight, bias, scale, shift
  std::int64_t shift = 0;
  double share_saturated = kAbsent;
  double share_at_rails = kAbsent;
  double share_moved = kAbsent;
  double misses = kAbsent;  // of the guesses for so many batches
  double batches = kAbsent;
};

// A row of histograms.csv.
struct HistogramRecord {
  std::int64_t epoch = 0;
  std::string layer = {};
  std::string role = {};
  EqualBins bins = {};
};

// "test" or "val" of summary.json.
struct EvaluationRecord {
  double images = kAbsent;
  double correct = kAbsent;
  double top1 = kAbsent;  // shares
  double top5 = kAbsent;
  double loss = kAbsent;
  std::vector<std::vector<double>> confusion = {};  // [true class][answer]; square or empty
  std::vector<std::string> class_names = {};        // as many, or empty
};

struct SummaryRecord {
  double epochs = kAbsent;
  double steps = kAbsent;
  double seconds = kAbsent;
  double peak_memory_mib = kAbsent;
  std::string weights_hash = {};
  double best_epoch = kAbsent;
  double best_val_top1 = kAbsent;
  std::optional<EvaluationRecord> test = {};
  std::optional<EvaluationRecord> val = {};
};

struct RunRecord {
  std::filesystem::path path = {};
  std::string name = {};     // the folder's
  std::string started = {};  // as settings.json has it
  // settings.json but `started`, flat, in its order: "optimizer.name" → "sgd".
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::vector<EpochRecord> epochs = {};
  std::vector<RoundingRecord> layers = {};
  std::vector<IntegerRecord> integers = {};
  std::vector<HistogramRecord> histograms = {};
  std::optional<SummaryRecord> summary = {};  // only of a run that ended

  std::string setting(const std::string& key) const;  // "" where there is none
};

// A run may be going on or interrupted: any file but settings.json may be missing, and a last line
// without its end is not read. Rows of epochs that a resumed run did again replace the older ones.
// Anything else that is wrong throws one line with the file, and the line in it.
RunRecord read_run(const std::filesystem::path& folder);

// Reads the files of a run: settings.json and summary.json, and its tables.

// Both throw one line that names the file, and the line or the field.
void read_settings(const std::filesystem::path& path, std::string_view text, RunRecord& run);
SummaryRecord read_summary(const std::filesystem::path& path, std::string_view text);

// All throw one line that names the file, the line and the column.
std::vector<EpochRecord> read_epochs(const std::filesystem::path& path, std::string_view text);
std::vector<RoundingRecord> read_layers(const std::filesystem::path& path, std::string_view text);
std::vector<IntegerRecord> read_integers(const std::filesystem::path& path, std::string_view text);
std::vector<HistogramRecord> read_histograms(const std::filesystem::path& path,
                                             std::string_view text);

// The figures by which runs are judged: where each stands in a record, and how it is written.
enum class ResultUnit { share, number, seconds, mebibytes, count };

struct ResultKind {
  std::string_view name;   // for programs: test_top1
  std::string_view title;  // for people: test top-1
  ResultUnit unit;
  double (*value)(const RunRecord& run);  // kAbsent where it has none
};

std::span<const ResultKind> result_kinds();

// "97.31 %", "0.0921", "3 min 20 s"; "" of what is absent.
std::string shown(const ResultKind& kind, double value);
std::string shown_share(double share);
std::string shown_time(double seconds);

}  // namespace nibble::inline report
