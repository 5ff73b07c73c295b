// SPDX-License-Identifier: Apache-2.0
// Reads the folder of a run.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "loadgen/load_page.h"
#include "nibble/core/error.h"
#include "report/csv_table.h"

namespace nibble::inline loadgen {
namespace {

namespace fs = std::filesystem;

// Column y over column x, or nothing where the file is not there, or y where older runs lack it.
std::vector<ChartPoint> points_of(const fs::path& path, const char* x, const char* y,
                                  bool is_in_all = true) {
  if (!fs::exists(path)) return {};
  const CsvTable table(path, read_text_file(path, "loadgen"));
  table.require(x);
  if (is_in_all) table.require(y);
  std::vector<ChartPoint> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!is_in_all && !table.number(row, y)) continue;
    points.push_back({table.number(row, x).value_or(0), table.number(row, y).value_or(0)});
  }
  return points;
}

// In % of all, and 0 where a bucket is empty, so that a line through them is the histogram. A
// bucket is 1/15 to 1/8 as wide as it lies far.
std::vector<ChartPoint> histogram_of(const std::vector<ChartPoint>& buckets) {
  constexpr double kNext = 1.13;  // times as far at most
  double all = 0;
  for (const ChartPoint& each : buckets) all += each.y;
  std::vector<ChartPoint> points;
  for (const ChartPoint& each : buckets) {
    if (!points.empty() && each.x > kNext * points.back().x) {
      points.push_back({points.back().x * kNext, 0});
      points.push_back({each.x / kNext, 0});
    }
    points.push_back({each.x, 100 * each.y / all});
  }
  return points;
}

// Whatever a stranger's file holds there instead is nothing.
std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0.0;
}

std::string machine_of(const nlohmann::json& json) {
  const auto found = json.find("machine");
  const nlohmann::json machine = found != json.end() ? *found : nlohmann::json::object();
  return fmt::format("{} of {}, {:.0f} threads", text_of(json, "device"), text_of(machine, "cpu"),
                     number_of(machine, "threads"));
}

}  // namespace

LoadRecord read_load_record(const fs::path& folder) {
  const fs::path path = folder / "settings.json";
  const auto json = nlohmann::json::parse(read_text_file(path, "loadgen"), nullptr, false);
  if (!json.is_object() || !json.contains("scenario") || !json["scenario"].is_string()) {
    throw Error("loadgen", path.string(), "another file", "settings of a run of nibble loadgen",
                ErrorKind::input);
  }
  const double in_time_for = number_of(json, "in_time_for_ms");
  LoadRecord record{
      .name = fs::weakly_canonical(folder).filename().string(),
      .scenario = parse_scenario(text_of(json, "scenario")),
      .model = fs::path(text_of(json, "model")).filename().string(),
      .mode = text_of(json, "mode"),
      .machine = machine_of(json),
      .settings = fmt::format(
          "batches up to {:.0f}, waits up to {:.2f} ms{}, {:.0f} at a time on {:.0f} "
          "threads each, samples from the {}",
          number_of(json, "batch"), number_of(json, "longest_wait_ms"),
          in_time_for > 0 ? fmt::format(", others first after {:.2f} ms", in_time_for) : "",
          number_of(json, "lanes"), number_of(json, "threads_of_a_batch"),
          text_of(json, "start_from")),
      .result = read_load_result(folder)};
  const fs::path slices = folder / "slices.csv";
  record.rate = points_of(slices, "seconds", "samples");
  record.batch = record.rate;
  const std::vector<ChartPoint> batches = points_of(slices, "seconds", "batches");
  for (std::size_t i = 0; i < batches.size(); ++i) {
    record.rate[i].y *= 10;  // a slice is a tenth of a second
    record.batch[i].y /= std::max(1.0, batches[i].y);
  }
  record.waiting = points_of(slices, "seconds", "most_waiting");
  record.busy = points_of(slices, "seconds", "busy");
  record.device_busy = points_of(slices, "seconds", "device_busy", false);
  for (auto* shares : {&record.busy, &record.device_busy}) {
    for (ChartPoint& point : *shares) point.y *= 100;
  }
  record.sizes = points_of(folder / "batches.csv", "samples", "batches");
  record.latencies = histogram_of(points_of(folder / "latencies.csv", "most_ms", "samples"));
  return record;
}

}  // namespace nibble::inline loadgen
