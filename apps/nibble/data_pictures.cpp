// SPDX-License-Identifier: Apache-2.0
// Decodes pictures as ImageNet's networks take them, and times it.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <vector>

#include "core/name.h"
#include "data/picture_set.h"
#include "data/picture_source.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/run_folder/progress.h"
#include "tasks/json.h"

namespace nibble {
namespace {

const PictureForm kForm{.law = PictureForm::Law::middle, .shape = Shape{224, 224, 3}};

double processor_seconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct BrokenPicture {
  std::size_t index;
  std::string why;
};

struct SplitCheck {
  std::size_t pictures = 0;
  std::vector<BrokenPicture> broken = {};
  double seconds = 0;
  double busy = 0;  // share of the threads' time
};

SplitCheck check_list(const PictureList& list, const std::string& label) {
  SplitCheck found{.pictures = list.size()};
  std::mutex mutex;
  std::int64_t done = 0;
  Progress progress(label, static_cast<std::int64_t>(list.size()));
  const auto start = std::chrono::steady_clock::now();
  const double before = processor_seconds();
  parallel_tasks(list.size(), [&](std::size_t i) {
    std::string why;
    try {
      std::vector<std::uint8_t> pixels(kForm.bytes());
      read_in_form(list.bytes(i), list.name(i), kForm, pixels.data());
    } catch (const Error& error) {
      why = error.reason();
    }
    const std::lock_guard lock(mutex);
    if (!why.empty()) found.broken.push_back({i, std::move(why)});
    progress.update(++done);
  });
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  found.busy = (processor_seconds() - before) / (found.seconds * thread_count());
  std::ranges::sort(found.broken, {}, &BrokenPicture::index);
  return found;
}

}  // namespace

bool is_path_of_pictures(const std::string& path) {
  return std::filesystem::exists(path);
}

void check_pictures(const std::string& path, bool is_json) {
  const bool has_both = std::filesystem::is_directory(path) && !picture_splits(path).test.empty();
  std::size_t broken = 0;
  Json list = Json::array();
  for (const Split split : {Split::train, Split::test}) {
    if (split == Split::test && !has_both) continue;
    const LabelledPictures pictures = list_picture_set(path, split);
    const SplitCheck found = check_list(pictures.list, "check " + path);
    broken += found.broken.size();
    const double speed = static_cast<double>(found.pictures) / found.seconds;
    Json entry{{"path", path},
               {"split", name_of(split)},
               {"pictures", found.pictures},
               {"classes", pictures.class_names.size()},
               {"pictures_per_second", speed},
               {"busy", found.busy},
               {"broken", Json::array()}};
    for (const BrokenPicture& each : found.broken) {
      entry["broken"].push_back({{"index", each.index}, {"why", well_formed(each.why)}});
      if (!is_json) fmt::print("{}\n", well_formed(each.why));
    }
    list.push_back(std::move(entry));
    if (is_json) continue;
    fmt::print(
        "{} {}: {} pictures, {} classes, {} broken; {:.0f} pictures/s, threads {:.0f} % busy\n",
        path, name_of(split), found.pictures, pictures.class_names.size(), found.broken.size(),
        speed, 100 * found.busy);
  }
  if (is_json) fmt::print("{}\n", list.dump(2));
  if (broken > 0)
    throw Error("data check", fmt::format("{}: {} broken pictures", path, broken),
                ErrorKind::input);
}

}  // namespace nibble
