// SPDX-License-Identifier: Apache-2.0
// Answers of two models, side by side.
#include "apps/nibble/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <vector>

#include "apps/nibble/different_pictures.h"
#include "core/atomic_file.h"
#include "inference/engine_evaluation.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/foreign/read_onnx.h"
#include "nibble/graph/model_file.h"
#include "quantization/answered_classes.h"
#include "tasks/json.h"

namespace nibble {
namespace {

constexpr std::size_t kListed = 20;

std::vector<std::int32_t> answers_of(const std::string& path, const Dataset& data,
                                     const std::string& device) {
  Model model = path.ends_with(".onnx") ? read_onnx(path) : read_model(path).model;
  const bool is_float = std::ranges::all_of(
      model.parameters, [](const Tensor& each) { return each.dtype() == DType::f32; });
  if (is_float) {
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

void print_list(const std::vector<DifferentPicture>& list, const Dataset& data) {
  fmt::print("\n{:>7}  {:<12} {:<12} {:<12}\n", "picture", "label", "first", "second");
  for (std::size_t i = 0; i < std::min(kListed, list.size()); ++i) {
    fmt::print("{:>7}  {:<12} {:<12} {:<12}\n", list[i].index, class_name(data, list[i].label),
               class_name(data, list[i].first), class_name(data, list[i].second));
  }
  if (list.size() > kListed) fmt::print("and {} more: --json has all\n", list.size() - kListed);
}

}  // namespace

void compare_models(const ModelComparisonFlags& flags) {
  const Dataset data = load_dataset(flags.data, Split::test, {.image_size = flags.image_size});
  if (data.has_targets())
    throw Error("compare", flags.data, "targets", "classes", ErrorKind::input);
  const std::vector<std::int32_t> first = answers_of(flags.first, data, flags.device);
  const std::vector<std::int32_t> second = answers_of(flags.second, data, flags.device);
  const std::vector<DifferentPicture> list = differences(first, second, data);
  if (!flags.pictures.empty()) {
    const std::string page = draw_pictures(data, list, flags.pictures.ends_with(".html"));
    AtomicFile file(flags.pictures);
    file.stream() << page;
    file.commit();
  }
  const auto agreed = static_cast<std::int64_t>(first.size() - list.size());
  const double agreement = static_cast<double>(agreed) / static_cast<double>(data.size());
  if (flags.is_json) {
    Json json{{"models", {flags.first, flags.second}},
              {"data", flags.data},
              {"images", data.size()},
              {"agreed", agreed},
              {"agreement", agreement},
              {"top1", {top1(first, data), top1(second, data)}},
              {"different", Json::array()}};
    for (const DifferentPicture& each : list) {
      json["different"].push_back(
          {{"index", each.index}, {"label", each.label}, {"answers", {each.first, each.second}}});
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} of {} answers agree: {:.2f} %\n", agreed, data.size(), 100 * agreement);
  fmt::print("top-1 {:.2f} %  {}\n", 100 * top1(first, data), flags.first);
  fmt::print("top-1 {:.2f} %  {}\n", 100 * top1(second, data), flags.second);
  if (!list.empty()) print_list(list, data);
}

}  // namespace nibble
