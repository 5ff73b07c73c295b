// SPDX-License-Identifier: Apache-2.0
// Evaluates both networks and measures how long that takes.
#include "tasks/quantize_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "inference/engine_evaluation.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/train.h"

namespace nibble::inline tasks {
namespace {

constexpr double kSeconds = 0.3;  // of repeats, for small data

std::size_t bytes_of(const Model& model) {
  std::size_t bytes = 0;
  for (const Tensor& each : model.parameters) bytes += each.bytes();
  return bytes;
}

// The median of evaluations, one at least.
template <class Evaluate>
void measure(Outcome& outcome, const Evaluate& evaluate) {
  std::vector<double> rates;
  double spent = 0;
  while (rates.empty() || spent < kSeconds) {
    const auto start = std::chrono::steady_clock::now();
    const Evaluation found = evaluate();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.loss = found.loss;
    if (found.classes) outcome.top1 = found.classes->top1();
    rates.push_back(static_cast<double>(found.images) / seconds);
    spent += seconds;
  }
  std::ranges::nth_element(rates, rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2));
  outcome.images_per_second = rates[rates.size() / 2];
}

}  // namespace

Outcome outcome_of_floats(const Model& model, const Dataset* test) {
  Outcome outcome{.bytes = bytes_of(model), .top1 = {}};
  if (test != nullptr) measure(outcome, [&] { return evaluate(model, *test); });
  return outcome;
}

Outcome outcome_of_integers(const Model& model, const Dataset* test, const std::string& device) {
  Outcome outcome{.bytes = bytes_of(model), .top1 = {}};
  if (test == nullptr) return outcome;
  const AnswerEngine engine(copy_of(model),
                            {.device = device, .max_batch = 64, .threads = thread_count()});
  const ExampleReader reader(engine.network(), engine.engine().input());
  const Examples examples = examples_of(*test, engine.network(), reader);
  measure(outcome, [&] { return evaluate_engine(engine, examples).evaluation; });
  return outcome;
}

std::string score_text(const Outcome& outcome) {
  if (outcome.top1) return fmt::format("{:.2f} %", 100 * *outcome.top1);
  return outcome.images_per_second > 0 ? fmt::format("{:.4g}", outcome.loss) : "-";
}

std::string rate_text(const Outcome& outcome) {
  return outcome.images_per_second > 0 ? fmt::format("{:.0f}", outcome.images_per_second) : "-";
}

std::string outcome_table(const Outcome& floats, const Outcome& integers) {
  const bool is_regression = !floats.top1 && floats.images_per_second > 0;
  std::string text = fmt::format("{:<9} {:>8} {:>12} {:>10}\n", "",
                                 is_regression ? "loss" : "top-1", "bytes", "images/s");
  const auto add = [&](const char* name, const Outcome& each) {
    text += fmt::format("{:<9} {:>8} {:>12} {:>10}\n", name, score_text(each), each.bytes,
                        rate_text(each));
  };
  add("float", floats);
  add("integers", integers);
  return text;
}

}  // namespace nibble::inline tasks
