// SPDX-License-Identifier: Apache-2.0
// The arrays of a program as an ArraySet.
#include "nibble/data/dataset.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/name.h"
#include "data/array_set.h"
#include "data/catalog.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

// The system's numbers of threads are given again.
std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t mine = ++last;
  return mine;
}

struct KeptSet {
  std::string name;
  std::uint64_t maker = 0;  // a thread
  std::shared_ptr<const ArraySet> set;
};

std::mutex sets_mutex;
std::vector<KeptSet> sets_in_memory;  // the newest last

ArraySet set_of(const std::string& name, std::map<std::string, Tensor> arrays) {
  const auto kept = std::make_shared<const std::map<std::string, Tensor>>(std::move(arrays));
  return {.place = name,
          .has = [kept](const std::string& array) { return kept->contains(array); },
          .read = [kept](const std::string& array) { return copy_of(kept->at(array).view()); },
          .describe = [name](const std::string& array) { return name + ": " + array; },
          .class_names = {}};
}

}  // namespace

MemoryDataset::MemoryDataset(const std::string& name, std::map<std::string, Tensor> arrays) {
  check_name("data", "name of arrays", name);
  if (find_known_dataset(name) != nullptr)
    throw Error("data", "name of arrays", "'" + name + "'", "none that a known data set has");
  set_ = std::make_shared<const ArraySet>(set_of(name, std::move(arrays)));
  const std::lock_guard lock(sets_mutex);
  sets_in_memory.push_back({.name = name, .maker = number_of_this_thread(), .set = set_});
}

MemoryDataset::~MemoryDataset() {
  const std::lock_guard lock(sets_mutex);
  std::erase_if(sets_in_memory, [&](const KeptSet& each) { return each.set == set_; });
}

std::shared_ptr<const ArraySet> find_in_memory(std::string_view name) {
  const std::uint64_t here = number_of_this_thread();
  const std::lock_guard lock(sets_mutex);
  std::vector<std::shared_ptr<const ArraySet>> of_others;
  for (auto each = sets_in_memory.rbegin(); each != sets_in_memory.rend(); ++each) {
    if (each->name != name) continue;
    if (each->maker == here) return each->set;
    of_others.push_back(each->set);
  }
  if (of_others.size() > 1) {
    throw Error("load_dataset", "name of arrays", "'" + std::string(name) + "' of several",
                "one that this thread has made, or one alone");
  }
  return of_others.empty() ? nullptr : of_others[0];
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
