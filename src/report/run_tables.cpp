// SPDX-License-Identifier: Apache-2.0
// Reads the tables of a run.
#include "report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "nibble/core/error.h"
#include "report/csv_table.h"

namespace nibble::inline report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBins = 65536;
constexpr std::size_t kMostCells = std::size_t{1} << 20;
constexpr std::int64_t kMostShift = 127;  // updates of 64-bit sums stay below

double share_of(const CsvTable& table, std::size_t row, std::string_view column) {
  const double value = table.number(row, column).value_or(kAbsent);
  if (value < 0 || value > 1) table.fail(row, column, fmt::format("{}", value), "0 to 1");
  return value;
}

std::int64_t shift_of(const CsvTable& table, std::size_t row) {
  const std::int64_t shift = table.whole(row, "shift");
  if (shift < -kMostShift || shift > kMostShift) {
    table.fail(row, "shift", fmt::format("{}", shift),
               fmt::format("{0} to {1}", -kMostShift, kMostShift));
  }
  return shift;
}

double count_of(const CsvTable& table, std::size_t row, std::string_view column) {
  if (table.text(row, column).empty()) return kAbsent;
  const std::int64_t count = table.whole(row, column);
  if (count < 0) table.fail(row, column, fmt::format("{}", count), "at least 0");
  return static_cast<double>(count);
}

// A resumed run starts again behind its checkpoint: what it had told beyond is void. So epochs
// never fall.
template <class Record>
void add(std::vector<Record>& records, Record record) {
  if (!records.empty() && record.epoch < records.back().epoch) {
    while (!records.empty() && records.back().epoch >= record.epoch) records.pop_back();
  }
  records.push_back(std::move(record));
}

// A page has a cell for every layer and every role, also where a table has no row for both.
template <class Record>
void check_cells(const fs::path& path, const std::vector<Record>& records) {
  std::unordered_set<std::string_view> layers;
  std::unordered_set<std::string_view> roles;
  for (const Record& record : records) {
    layers.insert(record.layer);
    roles.insert(record.role);
  }
  if (layers.size() * roles.size() <= kMostCells) return;
  throw Error("report", path.string(),
              fmt::format("{} layers by {} roles", layers.size(), roles.size()),
              fmt::format("at most {} cells", kMostCells), ErrorKind::input);
}

std::vector<double> counts_of(const CsvTable& table, std::size_t row) {
  const std::string text = table.text(row, "counts");
  const char* at = text.data();
  const char* const end = at + text.size();
  std::vector<double> counts;
  while (at != end) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    std::uint64_t count = 0;
    const auto [next, error] = std::from_chars(at, end, count);
    const bool is_whole = error == std::errc{} && (next == end || *next == ' ');
    if (!is_whole || counts.size() == kMostBins) {
      table.fail(row, "counts", fmt::format("'{}'", std::string(at, std::find(at, end, ' '))),
                 fmt::format("at most {} whole numbers between spaces", kMostBins));
    }
    counts.push_back(static_cast<double>(count));
    at = next;
  }
  return counts;
}

}  // namespace

std::vector<EpochRecord> read_epochs(const fs::path& path, std::string_view text) {
  const CsvTable table(path, text);
  table.require("epoch");
  std::vector<EpochRecord> records;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](std::string_view column) {
      return table.number(row, column).value_or(kAbsent);
    };
    const EpochRecord record = {.epoch = table.whole(row, "epoch"),
                                .step = number("step"),
                                .learning_rate = number("learning_rate"),
                                .train_loss = number("train_loss"),
                                .train_top1 = share_of(table, row, "train_top1"),
                                .val_loss = number("val_loss"),
                                .val_top1 = share_of(table, row, "val_top1"),
                                .test_loss = number("test_loss"),
                                .test_top1 = share_of(table, row, "test_top1"),
                                .seconds = number("seconds"),
                                .images_per_second = number("images_per_second")};
    if (!records.empty() && records.back().epoch == record.epoch) records.pop_back();
    add(records, record);
  }
  return records;
}

std::vector<RoundingRecord> read_layers(const fs::path& path, std::string_view text) {
  const CsvTable table(path, text);
  for (const char* column : {"epoch", "layer", "role"}) table.require(column);
  std::vector<RoundingRecord> records;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](std::string_view column) {
      return table.number(row, column).value_or(kAbsent);
    };
    add(records, RoundingRecord{.epoch = table.whole(row, "epoch"),
                                .layer = table.text(row, "layer"),
                                .role = table.text(row, "role"),
                                .format = table.text(row, "format"),
                                .elements = number("elements"),
                                .min = number("min"),
                                .max = number("max"),
                                .mean = number("mean"),
                                .deviation = number("deviation"),
                                .sqnr_db = number("sqnr_db"),
                                .share_saturated = share_of(table, row, "share_saturated"),
                                .share_flushed = share_of(table, row, "share_flushed")});
  }
  check_cells(path, records);
  return records;
}

std::vector<IntegerRecord> read_integers(const fs::path& path, std::string_view text) {
  const CsvTable table(path, text);
  for (const char* column : {"epoch", "layer", "tensor", "shift"}) table.require(column);
  std::vector<IntegerRecord> records;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    add(records, IntegerRecord{.epoch = table.whole(row, "epoch"),
                               .layer = table.text(row, "layer"),
                               .tensor = table.text(row, "tensor"),
                               .shift = shift_of(table, row),
                               .share_saturated = share_of(table, row, "share_saturated"),
                               .share_at_rails = share_of(table, row, "share_at_rails"),
                               .share_moved = share_of(table, row, "share_moved"),
                               .misses = count_of(table, row, "misses"),
                               .batches = count_of(table, row, "batches")});
  }
  return records;
}

std::vector<HistogramRecord> read_histograms(const fs::path& path, std::string_view text) {
  const CsvTable table(path, text);
  for (const char* column : {"epoch", "layer", "role", "low", "high", "counts"}) {
    table.require(column);
  }
  std::vector<HistogramRecord> records;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    EqualBins bins = {.low = table.number(row, "low").value_or(kAbsent),
                      .high = table.number(row, "high").value_or(kAbsent),
                      .counts = counts_of(table, row)};
    if (!(bins.low <= bins.high)) {
      table.fail(row, "high", fmt::format("{}", bins.high),
                 fmt::format("at least low, {}", bins.low));
    }
    add(records, HistogramRecord{.epoch = table.whole(row, "epoch"),
                                 .layer = table.text(row, "layer"),
                                 .role = table.text(row, "role"),
                                 .bins = std::move(bins)});
  }
  check_cells(path, records);
  return records;
}

}  // namespace nibble::inline report
