// SPDX-License-Identifier: Apache-2.0
// A comparison of runs as JSON.
#include "tasks/compare_models.h"

#include <cmath>

#include "tasks/json.h"

namespace nibble::inline tasks {
namespace {

Json weights_of(const Comparison& comparison) {
  if (comparison.weights == Comparison::Weights::unknown) return nullptr;
  return comparison.weights == Comparison::Weights::equal;
}

}  // namespace

std::string comparison_json(const std::vector<RunRecord>& runs) {
  const Comparison comparison = compare(runs);
  Json json = {{"runs", comparison.runs},         {"different", Json::object()},
               {"equal", Json::object()},         {"results", Json::object()},
               {"weights_hashes", Json::array()}, {"weights_equal", weights_of(comparison)}};
  for (const ComparedSetting& row : comparison.settings) {
    if (row.is_different)
      json["different"][row.key] = row.values;
    else
      json["equal"][row.key] = row.values.front();
  }
  for (const ComparedResult& row : comparison.results) {
    Json& list = json["results"][row.name] = Json::array();
    for (const double value : row.values) {
      list.push_back(std::isnan(value) ? Json() : json_number(value));
    }
  }
  for (const std::string& hash : comparison.weights_hashes) {
    json["weights_hashes"].push_back(hash.empty() ? Json() : Json(hash));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nibble::inline tasks
