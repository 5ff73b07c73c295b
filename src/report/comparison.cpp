// SPDX-License-Identifier: Apache-2.0
// Runs side by side.
#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/run_record.h"

namespace nibble::inline report {
namespace {

// Keys of all runs: the first run's order, others behind the key that they follow in theirs.
std::vector<std::string> all_keys(const std::vector<RunRecord>& runs) {
  std::vector<std::string> keys;
  for (const RunRecord& run : runs) {
    auto place = keys.begin();
    for (const auto& [key, value] : run.settings) {
      const auto found = std::ranges::find(keys, key);
      place = found != keys.end() ? found + 1 : keys.insert(place, key) + 1;
    }
  }
  return keys;
}

Comparison::Weights weights_of(const std::vector<std::string>& hashes) {
  const std::set<std::string> known(hashes.begin(), hashes.end());
  if (known.contains("") || hashes.size() < 2) return Comparison::Weights::unknown;
  return known.size() == 1 ? Comparison::Weights::equal : Comparison::Weights::different;
}

}  // namespace

std::vector<std::string> distinct_names(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const RunRecord& run : runs) names.push_back(run.name);
  if (std::set(names.begin(), names.end()).size() == names.size()) return names;
  names.clear();
  for (const RunRecord& run : runs) {
    std::string name = run.path.string();
    if (std::ranges::count(names, name) > 0) name += fmt::format(" ({})", names.size() + 1);
    names.push_back(name);
  }
  return names;
}

Comparison compare(const std::vector<RunRecord>& runs) {
  Comparison result = {.runs = distinct_names(runs)};
  for (const std::string& key : all_keys(runs)) {
    ComparedSetting row = {.key = key};
    for (const RunRecord& run : runs) row.values.push_back(run.setting(key));
    row.is_different =
        std::ranges::adjacent_find(row.values, std::not_equal_to{}) != row.values.end();
    result.settings.push_back(std::move(row));
  }
  for (const ResultKind& kind : result_kinds()) {
    ComparedResult row = {.name = std::string(kind.name)};
    for (const RunRecord& run : runs) {
      row.values.push_back(kind.value(run));
      row.texts.push_back(shown(kind, row.values.back()));
    }
    const auto is_known = [](double value) { return !std::isnan(value); };
    if (std::ranges::any_of(row.values, is_known)) result.results.push_back(std::move(row));
  }
  for (const RunRecord& run : runs) {
    result.weights_hashes.push_back(run.summary ? run.summary->weights_hash : "");
  }
  result.weights = weights_of(result.weights_hashes);
  return result;
}

}  // namespace nibble::inline report
