// SPDX-License-Identifier: Apache-2.0
// Reads, runs and counts, piece by piece.
#include "inference/engine_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "epoch_loop/training_data.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline inference {
namespace {

constexpr std::size_t kPiece = 64;

void check_labels(const Examples& examples, std::int64_t classes) {
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples.labels[i] >= 0 && examples.labels[i] < classes) continue;
    throw Error("data " + examples.name, fmt::format("label of example {}", examples.indices[i]),
                std::to_string(examples.labels[i]),
                fmt::format("0 to {}, the answers of the network", classes - 1), ErrorKind::input);
  }
}

double squared_errors(std::span<const float> answers, std::span<const float> targets) {
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double error = double{answers[i]} - double{targets[i]};
    sum += error * error;
  }
  return sum;
}

}  // namespace

Examples examples_of(const Dataset& data, const Network& network, const ExampleReader& reader) {
  check_data(network, data);
  Examples examples{.name = data.name};
  if (data.has_targets()) {
    examples.targets = data.targets.as<float>();
  } else if (data.has_answers()) {
    const auto labels = data.labels.as<std::int32_t>();
    examples.labels.assign(labels.begin(), labels.end());
  } else {
    examples.labels.assign(static_cast<std::size_t>(data.size()), PictureList::kNoLabel);
  }
  examples.indices.resize(static_cast<std::size_t>(data.size()));
  std::iota(examples.indices.begin(), examples.indices.end(), 0);
  examples.read = [&data, &reader](std::size_t begin, std::size_t end,
                                   std::span<std::byte> integers) {
    const auto each = static_cast<std::size_t>(data.images.elements() / data.size());
    if (data.images.dtype() == DType::f32) {
      return reader.from_reals(data.images.as<float>().subspan(begin * each, (end - begin) * each),
                               integers.data());
    }
    std::vector<std::int32_t> indices(end - begin);
    std::iota(indices.begin(), indices.end(), static_cast<std::int32_t>(begin));
    data.images.for_each(indices, [&](std::size_t k, const std::uint8_t* pixels) {
      reader.from_bytes({pixels, each}, integers.data() + k * reader.info().bytes);
    });
  };
  return examples;
}

Examples examples_of(std::vector<ListedFile> files, const std::string& name,
                     const ExampleReader& reader) {
  Examples examples{.name = name};
  for (const ListedFile& file : files) {
    examples.labels.push_back(file.label);
    examples.indices.push_back(file.index);
  }
  examples.read = [files = std::move(files), &reader](std::size_t begin, std::size_t end,
                                                      std::span<std::byte> integers) {
    const std::size_t bytes = reader.info().bytes;
    parallel_tasks(end - begin, [&](std::size_t i) {
      const ListedFile& file = files[begin + i];
      std::vector<std::byte> example;
      const std::int64_t count = reader.read(file.path, example);
      if (count != 1) {
        throw Error("input", file.path.string() + ": examples", std::to_string(count), "one",
                    ErrorKind::input);
      }
      std::memcpy(integers.data() + i * bytes, example.data(), bytes);
    });
  };
  return examples;
}

EngineEvaluation evaluate_engine(const AnswerEngine& engine, const Examples& examples,
                                 ProgressStyle progress_style) {
  const std::size_t input_bytes = engine.engine().input().bytes;
  const ValueInfo& output = engine.engine().output();
  const auto width = static_cast<std::size_t>(output.shape.elements());
  const bool has_classes = examples.targets.empty();
  if (has_classes) check_labels(examples, output.shape.elements());
  Classification counts(output.shape.elements());
  double squares = 0;
  std::vector<std::byte> input;
  std::vector<std::byte> integers;
  std::vector<float> reals;
  EngineEvaluation result;
  Progress progress("eval " + examples.name, static_cast<std::int64_t>(examples.size()),
                    {.style = progress_style});
  for (std::size_t begin = 0; begin < examples.size(); begin += kPiece) {
    const std::size_t end = std::min(begin + kPiece, examples.size());
    const std::size_t count = end - begin;
    input.resize(count * input_bytes);
    integers.resize(count * output.bytes);
    reals.resize(count * width);
    examples.read(begin, end, input);
    engine.engine().run(input, static_cast<std::int64_t>(count), integers);
    engine.to_reals(integers, reals);
    progress.update(static_cast<std::int64_t>(end));
    if (!has_classes) {
      squares += squared_errors(reals, examples.targets.subspan(begin * width, count * width));
      continue;
    }
    counts.add(reals, std::span(examples.labels).subspan(begin, count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = std::span(reals).subspan(i * width, width);
      result.answers.push_back(
          static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    }
  }
  result.evaluation.images = static_cast<std::int64_t>(examples.size());
  if (has_classes) {
    result.evaluation.loss = counts.mean_loss();
    result.evaluation.classes = counts;
  } else {
    result.evaluation.loss = squares / 2 / static_cast<double>(examples.size());
  }
  return result;
}

Agreement agreement_of(const Examples& examples, std::span<const std::int32_t> answers,
                       const LoggedAnswers& log) {
  Agreement agreement;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto logged = log.find(examples.indices[i]);
    if (logged == log.end()) continue;
    ++agreement.compared;
    if (logged->second == answers[i]) ++agreement.agreed;
  }
  return agreement;
}

}  // namespace nibble::inline inference
