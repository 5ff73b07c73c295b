// SPDX-License-Identifier: Apache-2.0
// A comparison of runs as text, a column a run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/name.h"
#include "report/comparison.h"
#include "report/run_record.h"

namespace nibble::inline report {
namespace {

constexpr std::size_t kMostHeadLetters = 60;

struct Line {
  std::string name = {};
  std::vector<std::string> cells = {};  // none: a heading
};

std::string padded(const std::string& words, std::size_t width) {
  return words + std::string(width - std::min(width, width_of(words)), ' ');
}

std::string laid_out(std::vector<Line> lines) {
  std::vector<std::size_t> widths;
  std::size_t names = 0;
  for (Line& line : lines) {
    line.name = shortened(line.name, kMostHeadLetters);
    names = std::max(names, width_of(line.name));
    widths.resize(std::max(widths.size(), line.cells.size()));
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      line.cells[i] = line.cells[i].empty() ? "-" : shortened(line.cells[i], kMostHeadLetters);
      widths[i] = std::max(widths[i], width_of(line.cells[i]));
    }
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = padded(line.name, names);
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      row += "  " + padded(line.cells[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string title_of(const std::string& result) {
  for (const ResultKind& kind : result_kinds()) {
    if (kind.name == result) return std::string(kind.title);
  }
  return result;
}

// "equal", "different", or who shares them where there are more than two.
std::string words_on_weights(const Comparison& comparison) {
  if (comparison.weights == Comparison::Weights::equal) return "equal, bit for bit";
  std::map<std::string, std::vector<std::string>> groups;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    groups[comparison.weights_hashes[i]].push_back(comparison.runs[i]);
  }
  std::string shared;
  for (const auto& [hash, names] : groups) {
    if (hash.empty() || names.size() < 2) continue;
    shared += shared.empty() ? "equal in " : "; equal in ";
    for (const std::string& name : names) {
      shared += (&name == &names.front() ? "" : ", ") + shortened(name, kMostHeadLetters);
    }
  }
  if (!shared.empty()) return shared;
  return comparison.weights == Comparison::Weights::different ? "different"
                                                              : "unknown: not every run has ended";
}

}  // namespace

std::string comparison_table(const std::vector<RunRecord>& runs) {
  const Comparison comparison = compare(runs);
  std::vector<Line> lines = {{.name = "", .cells = comparison.runs}};
  std::size_t equal = 0;
  for (const ComparedSetting& row : comparison.settings) {
    if (row.is_different)
      lines.push_back({.name = row.key, .cells = row.values});
    else
      ++equal;
  }
  const bool has_difference = lines.size() > 1;
  lines.push_back({});
  for (const ComparedResult& row : comparison.results) {
    lines.push_back({.name = title_of(row.name), .cells = row.texts});
  }
  lines.push_back({.name = "weights hash", .cells = comparison.weights_hashes});
  std::string text = laid_out(std::move(lines));
  text += fmt::format("\n{} settings agree{}; the weights are {}\n", equal,
                      has_difference ? "" : ", none differs", words_on_weights(comparison));
  return text;
}

}  // namespace nibble::inline report
