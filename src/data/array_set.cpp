// SPDX-License-Identifier: Apache-2.0
// Finds the arrays of a split by their names and puts them together.
#include "data/array_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

struct ArrayNames {
  std::string images;
  std::string labels;
  std::string targets;  // the same name as `labels`: the element type tells which it is
};

std::vector<ArrayNames> names_for(Split split) {
  const std::string s(name_of(split));
  std::vector<ArrayNames> list = {{s + "/images", s + "/labels", s + "/targets"},
                                  {s + "_images", s + "_labels", s + "_targets"},
                                  {"x_" + s, "y_" + s, "y_" + s}};
  if (split == Split::train) list.push_back({"images", "labels", "targets"});
  return list;
}

std::optional<ArrayNames> find_names(const ArraySet& set, Split split) {
  for (const ArrayNames& names : names_for(split)) {
    if (set.has(names.images) && (set.has(names.labels) || set.has(names.targets))) return names;
  }
  return std::nullopt;
}

ArrayNames names_or_fail(const ArraySet& set, Split split) {
  if (const std::optional<ArrayNames> names = find_names(set, split)) return *names;
  const ArrayNames first = names_for(split).front();
  if (split == Split::test && find_names(set, Split::train)) {
    throw Error("load_dataset", set.place + ": test split", "a train split alone",
                fmt::format("{} and {}", set.describe(first.images), set.describe(first.labels)),
                ErrorKind::input);
  }
  throw Error(
      "load_dataset", set.place, "no images with labels or targets",
      fmt::format("{0} and {1}, or {2} and {3}", set.describe("images"), set.describe("labels"),
                  set.describe(first.images), set.describe(first.labels)),
      ErrorKind::input);
}

// 1 + the largest label of both splits.
std::int64_t count_classes(const ArraySet& set) {
  std::int32_t largest = 0;
  for (const Split split : {Split::train, Split::test}) {
    const std::optional<ArrayNames> names = find_names(set, split);
    if (!names || !set.has(names->labels)) continue;
    const Tensor values = set.read(names->labels);
    const std::string where = set.describe(names->labels);
    if (values.shape().rank() != 1) {
      throw Error("load_dataset", where + ": shape", values.shape().to_string(), "(n,)",
                  ErrorKind::input);
    }
    const Tensor labels = labels_from(values.view(), values.shape()[0], kMostClasses, where);
    for (const std::int32_t label : labels.as<std::int32_t>()) largest = std::max(largest, label);
  }
  return std::int64_t{largest} + 1;
}

std::vector<std::string> class_names_of(const ArraySet& set) {
  if (!set.class_names.empty()) return set.class_names;
  std::vector<std::string> names;
  const std::int64_t classes = count_classes(set);
  for (std::int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

bool has_split(const ArraySet& set, Split split) {
  return find_names(set, split).has_value();
}

Dataset read_array_set(const ArraySet& set, Split split) {
  const ArrayNames names = names_or_fail(set, split);
  const bool is_shared = names.labels == names.targets;
  const bool has_labels = set.has(names.labels);
  if (has_labels && !is_shared && set.has(names.targets)) {
    throw Error("load_dataset", set.place,
                fmt::format("both {} and {}", names.labels, names.targets), "one of them",
                ErrorKind::input);
  }
  Dataset dataset;
  Tensor answers = set.read(has_labels ? names.labels : names.targets);
  const bool is_regression = is_shared ? answers.dtype() == DType::f32 : !has_labels;
  if (!is_regression) dataset.class_names = class_names_of(set);
  dataset.images = images_from(set.read(names.images), set.describe(names.images));
  if (is_regression) {
    dataset.targets = targets_from(std::move(answers), dataset.size(), set.describe(names.targets));
  } else {
    dataset.labels = labels_from(answers.view(), dataset.size(),
                                 static_cast<std::int64_t>(dataset.class_names.size()),
                                 set.describe(names.labels));
  }
  return dataset;
}

}  // namespace nibble::inline data
