// SPDX-License-Identifier: Apache-2.0
// Answers of two models, side by side.
#include "tasks/compare_models.h"

#include <numeric>
#include <utility>
#include <vector>

#include "inference/engine_evaluation.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "quantization/answered_classes.h"
#include "tasks/json.h"
#include "tasks/open_model.h"

namespace nibble::inline tasks {
namespace {

std::vector<std::int32_t> answers_of(Model model, const Dataset& data, const std::string& device) {
  if (is_float_model(model)) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(data.size()));
    std::iota(all.begin(), all.end(), 0);
    return answered_classes(model, data, all);
  }
  const AnswerEngine engine(std::move(model),
                            {.device = device, .max_batch = 16, .threads = thread_count()});
  const ExampleReader reader(engine.network(), engine.engine().input());
  return evaluate_engine(engine, examples_of(data, engine.network(), reader)).answers;
}

double top1(const std::vector<std::int32_t>& answers, const Dataset& data) {
  const auto labels = data.labels.as<std::int32_t>();
  std::int64_t right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) right += answers[i] == labels[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(answers.size());
}

std::vector<DifferentPicture> differences(const std::vector<std::int32_t>& first,
                                          const std::vector<std::int32_t>& second,
                                          const Dataset& data) {
  std::vector<DifferentPicture> list;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == second[i]) continue;
    list.push_back({.index = static_cast<std::int64_t>(i),
                    .label = data.labels.as<std::int32_t>()[i],
                    .first = first[i],
                    .second = second[i]});
  }
  return list;
}

}  // namespace

ModelComparison compare_models(Model first, Model second, const Dataset& data,
                               const std::string& device) {
  if (data.has_targets()) throw Error("compare", data.name, "targets", "classes", ErrorKind::input);
  const std::vector<std::int32_t> firsts = answers_of(std::move(first), data, device);
  const std::vector<std::int32_t> seconds = answers_of(std::move(second), data, device);
  return {.images = data.size(),
          .top1 = {top1(firsts, data), top1(seconds, data)},
          .different = differences(firsts, seconds, data)};
}

std::string to_json(const ModelComparison& found) {
  Json json{{"images", found.images},
            {"agreed", found.agreed()},
            {"agreement", found.agreement()},
            {"top1", found.top1},
            {"different", Json::array()}};
  for (const DifferentPicture& each : found.different) {
    json["different"].push_back(
        {{"index", each.index}, {"label", each.label}, {"answers", {each.first, each.second}}});
  }
  return json.dump();
}

}  // namespace nibble::inline tasks
