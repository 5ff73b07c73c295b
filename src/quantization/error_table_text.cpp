// SPDX-License-Identifier: Apache-2.0
// Errors as columns and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "quantization/error_table.h"

namespace nibble::inline quantization {
namespace {

constexpr std::size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

std::string decibel_text(double x) {
  return std::isinf(x) ? (x > 0 ? "exact" : "none") : fmt::format("{:.1f}", x);
}

nlohmann::ordered_json json_number(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  if (std::isnan(x)) return "nan";
  return x;
}

}  // namespace

std::string error_table_text(std::span<const NodeError> errors) {
  std::vector<Row> rows = {{"name", "op", "SQNR dB", "worst dB", "channel", "max error"}};
  for (const NodeError& each : errors) {
    rows.push_back({each.name, each.op, decibel_text(each.sqnr), decibel_text(each.worst_sqnr),
                    std::to_string(each.worst_channel), fmt::format("{:.3g}", each.most_error)});
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}\n", row[0], widths[0],
                        row[1], widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4],
                        row[5], widths[5]);
  }
  return text;
}

std::string error_table_json(std::span<const NodeError> errors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NodeError& each : errors) {
    list.push_back({{"name", each.name},
                    {"op", each.op},
                    {"sqnr_db", json_number(each.sqnr)},
                    {"worst_channel", each.worst_channel},
                    {"worst_sqnr_db", json_number(each.worst_sqnr)},
                    {"max_error", json_number(each.most_error)}});
  }
  return list.dump();
}

}  // namespace nibble::inline quantization
