// SPDX-License-Identifier: Apache-2.0
// The arrays of a program as an ArraySet.
#include "nibble/data/dataset.h"

#include <mutex>
#include <utility>

#include "core/name.h"
#include "data/array_set.h"
#include "data/catalog.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

std::mutex sets_mutex;
std::map<std::string, std::shared_ptr<const ArraySet>, std::less<>> sets_in_memory;

ArraySet set_of(const std::string& name, std::map<std::string, Tensor> arrays) {
  const auto kept = std::make_shared<const std::map<std::string, Tensor>>(std::move(arrays));
  return {.place = name,
          .has = [kept](const std::string& array) { return kept->contains(array); },
          .read = [kept](const std::string& array) { return copy_of(kept->at(array).view()); },
          .describe = [name](const std::string& array) { return name + ": " + array; },
          .class_names = {}};
}

}  // namespace

MemoryDataset::MemoryDataset(std::string name, std::map<std::string, Tensor> arrays)
    : name_(std::move(name)) {
  check_name("data", "name of arrays", name_);
  if (find_known_dataset(name_) != nullptr)
    throw Error("data", "name of arrays", "'" + name_ + "'", "none that a known data set has");
  const std::lock_guard lock(sets_mutex);
  const auto set = std::make_shared<const ArraySet>(set_of(name_, std::move(arrays)));
  if (!sets_in_memory.emplace(name_, set).second)
    throw Error("data", "name of arrays", "'" + name_ + "' twice at once", "another name");
}

MemoryDataset::~MemoryDataset() {
  const std::lock_guard lock(sets_mutex);
  sets_in_memory.erase(name_);
}

std::shared_ptr<const ArraySet> find_in_memory(std::string_view name) {
  const std::lock_guard lock(sets_mutex);
  const auto found = sets_in_memory.find(name);
  return found == sets_in_memory.end() ? nullptr : found->second;
}

Dataset read_from_memory(const ArraySet& set, Split split, bool takes_unlabelled) {
  Dataset dataset;
  if (takes_unlabelled && split == Split::train && !has_split(set, split) && set.has("images")) {
    dataset.images = images_from(set.read("images"), set.describe("images"));
  } else {
    dataset = read_array_set(set, split);
  }
  dataset.name = set.place;
  return dataset;
}

}  // namespace nibble::inline data
