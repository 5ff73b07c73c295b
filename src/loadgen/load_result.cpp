// SPDX-License-Identifier: Apache-2.0
// Reads the lines of LoadGen's detailed log that say what was found, and under which settings.
#include "loadgen/load_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "core/name.h"
#include "data/file_bytes.h"
#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

constexpr std::string_view kMark = ":::MLLOG ";
constexpr std::string_view kResult = "result_";
constexpr std::string_view kEstimate = "early_stopping_latency_";
constexpr std::string_view kSetting = "effective_";

std::string one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// LoadGen says apart from its other reasons that there were too few queries to be sure.
void add_reason(LoadResult& result, const std::string& reason) {
  if (!reason.empty()) result.reason += (result.reason.empty() ? "" : " ") + reason;
}

void take(LoadResult& result, const std::string& key, const nlohmann::json& value) {
  if (key == "validity") {
    result.is_valid = value == "VALID";
  } else if (key == "invalid_reason" && value.is_string()) {
    result.reason = one_line(value.get<std::string>());
  } else if (value.is_number()) {
    result.figures[key] = value.get<double>();
  }
}

void take_setting(LoadResult& result, const std::string& key, const nlohmann::json& value) {
  if (key == "scenario" && value.is_string()) result.scenario_name = value.get<std::string>();
  if (key == "target_latency_ns" && value.is_number())
    result.latency_bound_ns = value.get<double>();
  if (key == "performance_issue_same") result.has_one_sample = value == true;
}

}  // namespace

std::optional<double> LoadResult::figure(const std::string& name) const {
  const auto found = figures.find(name);
  if (found == figures.end()) return std::nullopt;
  return found->second;
}

std::optional<double> LoadResult::speed() const {
  for (const char* rate : {"samples_per_second", "completed_samples_per_sec"}) {
    if (const auto found = figure(rate)) return found;
  }
  for (const char* time :
       {"99.00_percentile_per_query_latency_ns", "90.00_percentile_latency_ns"}) {
    if (const auto found = figure(time)) return 1e9 / *found;
  }
  return std::nullopt;
}

std::optional<double> LoadResult::score(Scenario scenario) const {
  switch (scenario) {
    case Scenario::offline:
      return figure("samples_per_second");
    case Scenario::server:
      return figure("completed_samples_per_sec");
    case Scenario::single_stream:
      return figure("early_stopping_latency_ss");
    case Scenario::multi_stream:
      return figure("early_stopping_latency_ms");
  }
  return std::nullopt;
}

std::string LoadResult::headline(Scenario scenario) const {
  switch (scenario) {
    case Scenario::offline:
      return fmt::format("{:.1f} samples/s", figure("samples_per_second").value_or(0));
    case Scenario::server:
      return fmt::format("{:.1f} samples/s, 99 % within {:.3f} ms",
                         figure("completed_samples_per_sec").value_or(0),
                         1e-6 * figure("99.00_percentile_latency_ns").value_or(0));
    case Scenario::single_stream:
      return fmt::format("90 % within {:.3f} ms",
                         1e-6 * figure("90.00_percentile_latency_ns").value_or(0));
    case Scenario::multi_stream:
      return fmt::format("99 % of queries within {:.3f} ms",
                         1e-6 * figure("99.00_percentile_per_query_latency_ns").value_or(0));
  }
  return "";
}

LoadResult parse_detail_log(std::string_view text, const std::string& name) {
  LoadResult result;
  std::string early_stopping;
  bool is_sure = true;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.starts_with(kMark)) continue;
    const auto json = nlohmann::json::parse(line.substr(kMark.size()), nullptr, false);
    const auto key = json.is_object() ? json.find("key") : json.end();
    const auto value = json.is_object() ? json.find("value") : json.end();
    if (json.is_discarded() || key == json.end() || !key->is_string() || value == json.end()) {
      throw Error("loadgen", fmt::format("{} line {}", name, number),
                  in_quotes(line.substr(kMark.size())), "JSON with a key and a value",
                  ErrorKind::input);
    }
    const auto& word = key->get_ref<const std::string&>();
    if (word.starts_with("error")) ++result.errors;
    if (word == "early_stopping_met") is_sure = *value != false;
    if (word == "early_stopping_result" && value->is_string())
      early_stopping = one_line(value->get<std::string>());
    if (word.starts_with(kResult)) take(result, word.substr(kResult.size()), *value);
    if (word.starts_with(kEstimate)) take(result, word, *value);
    if (word.starts_with(kSetting)) take_setting(result, word.substr(kSetting.size()), *value);
  }
  if (!is_sure) add_reason(result, early_stopping);
  return result;
}

LoadResult read_load_result(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kDetailLog;
  const std::vector<std::byte> text = read_file_bytes(path, "loadgen");
  return parse_detail_log({reinterpret_cast<const char*>(text.data()), text.size()}, path.string());
}

}  // namespace nibble::inline loadgen
