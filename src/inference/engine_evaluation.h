// SPDX-License-Identifier: Apache-2.0
// How a network of integers does on examples, run by the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/listed_files.h"
#include "inference/accuracy_log.h"
#include "inference/example_reader.h"
#include "nibble/data/dataset.h"
#include "nibble/inference/answer_engine.h"
#include "nibble/run_folder/metrics.h"
#include "nibble/run_folder/progress.h"

namespace nibble::inline inference {

// Examples that are read when they are needed, with labels or with targets of a regression.
struct Examples {
  std::string name;
  std::vector<std::int32_t> labels = {};
  std::span<const float> targets = {};     // rows of what the network is to answer
  std::vector<std::int64_t> indices = {};  // by which others know the examples
  // Writes the integers of examples `begin` to `end`.
  std::function<void(std::size_t begin, std::size_t end, std::span<std::byte> integers)> read = {};

  std::size_t size() const { return indices.size(); }
};

// What is given must outlive the examples. A data set has pictures or features.
Examples examples_of(const Dataset& data, const Network& network, const ExampleReader& reader);
Examples examples_of(std::vector<ListedFile> files, const std::string& name,
                     const ExampleReader& reader);

struct EngineEvaluation {
  Evaluation evaluation;
  std::vector<std::int32_t> answers;  // classes, by example
};

// Labels must be classes of the network. The loss of a regression is ½ Σ (y - target)². Files are
// read and run in pieces of 64.
EngineEvaluation evaluate_engine(const AnswerEngine& engine, const Examples& examples,
                                 ProgressStyle progress = ProgressStyle::silent);

struct Agreement {
  std::int64_t compared = 0;  // examples that the log has
  std::int64_t agreed = 0;
};
Agreement agreement_of(const Examples& examples, std::span<const std::int32_t> answers,
                       const LoggedAnswers& log);

}  // namespace nibble::inline inference
