// SPDX-License-Identifier: Apache-2.0
// The rows of the tables in a run folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nibble::inline run_folder {

// epochs.csv. A split that was not evaluated has empty cells. Accuracies are shares from 0 to 1.
struct EpochRow {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double learning_rate = 0;
  std::optional<double> train_loss = {}, train_top1 = {};
  std::optional<double> val_loss = {}, val_top1 = {};
  std::optional<double> test_loss = {}, test_top1 = {};
  double seconds = 0;
  double images_per_second = 0;
};

// layers.csv. Roles: weight, activation, error, gradient, momentum, update, master.
struct LayerRow {
  std::int64_t epoch = 0;
  std::string layer = {};
  std::string role = {};
  std::string format = {};
  std::int64_t elements = 0;
  double min = 0, max = 0, mean = 0, deviation = 0;
  std::optional<double> sqnr_db = {}, share_saturated = {}, share_flushed = {};
  bool operator==(const LayerRow&) const = default;
};

// integers.csv, of integer-only training. Tensors: value, error, errors (where two meet), weight,
// bias, and scale and shift of batch norms, which have no shares. Shares are of the step that was
// looked at; misses are guessed shifts that were wrong, of the whole run.
struct IntegerRow {
  std::int64_t epoch = 0;
  std::string layer = {};
  std::string tensor = {};
  std::int64_t shift = 0;
  std::optional<double> share_saturated = {};  // cut to ±127
  std::optional<double> share_at_rails = {};   // weights at ±127
  std::optional<double> share_moved = {};      // weights that changed
  std::optional<std::int64_t> misses = {}, batches = {};
  bool operator==(const IntegerRow&) const = default;
};

// histograms.csv: counts over equal bins of [low, high].
struct HistogramRow {
  std::int64_t epoch = 0;
  std::string layer = {};
  std::string role = {};
  double low = 0, high = 0;
  std::vector<std::int64_t> counts = {};
  bool operator==(const HistogramRow&) const = default;
};

}  // namespace nibble::inline run_folder
