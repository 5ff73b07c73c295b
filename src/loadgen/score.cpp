// SPDX-License-Identifier: Apache-2.0
// Counts right answers.
#include "loadgen/score.h"

#include <algorithm>
#include <sstream>

#include "core/text_file.h"
#include "data/listed_files.h"
#include "nibble/core/error.h"
#include "nibble/data/dataset.h"

namespace nibble::inline loadgen {

Score score_of(const LoggedClasses& log, std::span<const std::int32_t> labels) {
  Score score{.samples = static_cast<std::int64_t>(labels.size()), .top5 = 0};
  for (const auto& [index, classes] : log) {
    if (index >= score.samples) {
      throw Error("loadgen score", "sample", std::to_string(index),
                  "0 to " + std::to_string(score.samples - 1) + ", what the data has",
                  ErrorKind::input);
    }
    const std::int32_t label = labels[static_cast<std::size_t>(index)];
    ++score.answered;
    if (classes.front() == label) ++score.top1;
    if (classes.size() < 5) score.top5.reset();
    if (score.top5 && std::ranges::find(classes, label) != classes.end()) ++*score.top5;
  }
  return score;
}

std::vector<std::int32_t> labels_of(const std::string& data, const std::string& split) {
  if (has_file_list(data)) return read_listed_labels(data);
  // Any size will do for pictures that stay where they are.
  const Dataset dataset = load_dataset(data, split == "train" ? Split::train : Split::test,
                                       {.input = Shape{1, 1, 3}, .most_in_memory = 0});
  if (dataset.has_targets()) throw Error("loadgen score", data, "targets", "classes");
  const auto labels = dataset.labels.as<std::int32_t>();
  return {labels.begin(), labels.end()};
}

std::optional<std::vector<std::int32_t>> labels_of_run(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunLabels;
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::istringstream lines(read_text_file(path, "loadgen score"));
  std::vector<std::int32_t> labels;
  for (std::int32_t label = 0; lines >> label;) labels.push_back(label);
  if (!lines.eof()) {
    throw Error("loadgen score", path.string(),
                "something else behind line " + std::to_string(labels.size()), "a label a line",
                ErrorKind::input);
  }
  if (!labels.empty() && labels.front() < 0)
    throw Error("loadgen score", path.string(), "no labels", "a run on data that has them",
                ErrorKind::input);
  return labels;
}

LogAgreement agreement_of(const LoggedClasses& log, const LoggedAnswers& other) {
  LogAgreement result;
  for (const auto& [index, classes] : log) {
    const auto found = other.find(index);
    if (found == other.end()) continue;
    ++result.compared;
    if (found->second == classes.front()) ++result.agreed;
  }
  return result;
}

}  // namespace nibble::inline loadgen
