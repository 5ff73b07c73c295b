// SPDX-License-Identifier: Apache-2.0
// nibble data: which data sets are here, whether they are right, how to get them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/verb.h"
#include "apps/nibble/verb_parts.h"
#include "core/hash.h"
#include "core/name.h"
#include "core/nearest_name.h"
#include "data/catalog.h"
#include "data/download.h"
#include "nibble/core/error.h"
#include "nibble/data/dataset.h"
#include "nibble/run_folder/interrupt.h"
#include "tasks/json.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

struct DataFlags {
  std::vector<std::string> names;
  bool is_json = false;
};

const KnownDataset& known_or_fail(const std::string& name) {
  const KnownDataset* known = find_known_dataset(name);
  if (known != nullptr) return *known;
  std::vector<std::string> names;
  for (const KnownDataset& each : known_datasets()) names.emplace_back(each.name);
  throw Error("data", "data set", "'" + name + "'",
              fmt::format("{}{}", fmt::join(names, ", "), perhaps(name, names)));
}

// The named ones, or all.
std::vector<const KnownDataset*> chosen(const std::vector<std::string>& names) {
  std::vector<const KnownDataset*> list;
  list.reserve(known_datasets().size());
  for (const std::string& name : names) list.push_back(&known_or_fail(name));
  if (!names.empty()) return list;
  for (const KnownDataset& known : known_datasets()) list.push_back(&known);
  return list;
}

void print_list(bool is_json) {
  Json list = Json::array();
  if (!is_json)
    fmt::print("{:<14} {:>6} {:>6}  {:<8} {:>7}  where\n", "name", "train", "test", "image",
               "classes");
  for (const KnownDataset& known : known_datasets()) {
    const std::optional<fs::path> path = find_data(known.name);
    const auto [height, width, channels] = known.image;
    if (is_json) {
      list.push_back({{"name", known.name},
                      {"summary", known.summary},
                      {"path", path ? Json(path->string()) : Json()},
                      {"train", known.counts[0]},
                      {"test", known.counts[1]},
                      {"image", known.image},
                      {"classes", Json::array()}});
      for (const std::string_view name : known.class_names) list.back()["classes"].push_back(name);
      continue;
    }
    fmt::print("{:<14} {:>6} {:>6}  {:<8} {:>7}  {}\n", known.name, known.counts[0],
               known.counts[1], fmt::format("{}x{}x{}", height, width, channels),
               known.class_names.size(), path ? path->string() : explain_absence(known.name));
  }
  if (is_json) fmt::print("{}\n", list.dump(2));
}

struct Finding {
  std::string state;   // ok, mismatch, broken, absent
  std::string detail;  // the hash, or what was wrong
};

Finding check_split(const KnownDataset& known, Split split) {
  try {
    const std::string got = hex(hash_of(load_dataset(known.name, split, {.is_checked = false})));
    const std::string expected = hex(known.hashes[static_cast<std::size_t>(split)]);
    if (got == expected) return {.state = "ok", .detail = got};
    return {.state = "mismatch", .detail = fmt::format("got {}, expected {}", got, expected)};
  } catch (const Error& error) {
    return {.state = "broken", .detail = error.what()};
  }
}

// What is absent is no failure unless it was asked for.
void check_known(const DataFlags& flags) {
  Json list = Json::array();
  std::string wrong;
  for (const KnownDataset* known : chosen(flags.names)) {
    const bool is_found = find_data(known->name).has_value();
    for (const Split split : {Split::train, Split::test}) {
      const Finding finding = is_found ? check_split(*known, split) : Finding{"absent", ""};
      if (!flags.is_json) {
        const std::string detail = finding.detail.empty() ? "" : "  " + well_formed(finding.detail);
        fmt::print("{:<14} {:<5}  {}{}\n", known->name, name_of(split), finding.state, detail);
      }
      list.push_back({{"name", known->name},
                      {"split", name_of(split)},
                      {"state", finding.state},
                      {"detail", finding.detail}});
      const bool is_wrong = is_found ? finding.state != "ok" : !flags.names.empty();
      if (is_wrong) {
        wrong += fmt::format("{}{} {}: {}", wrong.empty() ? "" : ", ", known->name, name_of(split),
                             finding.state);
      }
    }
  }
  if (flags.is_json) fmt::print("{}\n", list.dump(2));
  if (!wrong.empty()) throw Error("data check", wrong, ErrorKind::input);
}

void check(const DataFlags& flags) {
  DataFlags known{.names = {}, .is_json = flags.is_json};
  for (const std::string& name : flags.names) {
    if (find_known_dataset(name) != nullptr || !is_path_of_pictures(name)) {
      known.names.push_back(name);
    } else {
      check_pictures(name, flags.is_json);
    }
  }
  if (flags.names.empty() || !known.names.empty()) check_known(known);
}

// What to do by hand.
void explain_source(const KnownDataset& known) {
  const DownloadSource source = download_source(known.name);
  fmt::print("from    {}\n", source.address);
  fmt::print("files   {}{}\n", fmt::join(source.files, ", "),
             known.name == "cifar10" ? " (unpacked)" : " (or unpacked, without .gz)");
  if (known.name == "fashion-mnist") {
    fmt::print("or      Debian's package dataset-fashion-mnist, which is found by itself\n");
  }
  fmt::print("put in  {}\n", (data_folder() / known.name).string());
  fmt::print("then    nibble data check {}: XXH3 of the decoded train split {}, test split {}\n",
             known.name, hex(known.hashes[0]), hex(known.hashes[1]));
  if (const std::optional<std::string> command = unpack_command(known.name)) {
    fmt::print("or run  {}\n", *command);
  }
}

// One line on a terminal that is written over and over; nothing elsewhere.
class ProgressLine {
 public:
  ~ProgressLine() { clear(); }

  void show(const DownloadProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal_ || (is_shown_ && now - last_ < std::chrono::milliseconds(100))) return;
    last_ = now;
    is_shown_ = true;
    constexpr double kMega = 1e6;
    const std::string total =
        progress.total == 0
            ? ""
            : fmt::format(" of {:.1f}", static_cast<double>(progress.total) / kMega);
    fmt::print(stderr, "\r\x1b[K{}: {:.1f}{} MB", progress.file,
               static_cast<double>(progress.received) / kMega, total);
    std::fflush(stderr);
  }

  void clear() {
    if (is_shown_) std::fputs("\r\x1b[K", stderr);
    is_shown_ = false;
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

fs::path download(const KnownDataset& known) {
  ProgressLine line;
  const InterruptGuard guard;
  try {
    return download_dataset(known, [&](const DownloadProgress& progress) {
      line.show(progress);
      return !interrupt_requested();
    });
  } catch (const Error&) {
    if (!interrupt_requested()) throw;
    line.clear();
    throw Interrupted(interrupt_signal(), "interrupted; nothing was written");
  }
}

void get(const std::string& name) {
  const KnownDataset& known = known_or_fail(name);
  std::optional<fs::path> path = find_data(known.name);
  const bool is_packed = unpack_command(known.name).has_value();
  if (!path && can_download() && !is_packed) {
    try {
      path = download(known);
    } catch (const Error&) {
      explain_source(known);
      throw;
    }
  }
  if (path) {
    fmt::print("{} is in {}\n", known.name, path->string());
    return;
  }
  explain_source(known);
  throw Error("data get",
              fmt::format("{} is not here and {}", known.name,
                          is_packed ? "has to be unpacked"
                                    : "this Nibble does not download: put the files there"));
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("data", "list, check and obtain the data sets");
  const auto flags = std::make_shared<DataFlags>();
  verb.require_subcommand(1);
  verb.footer(
      "A data set is looked for in $NIBBLE_DATA/NAME, ~/.cache/nibble/NAME, then in the packages\n"
      "of the system. The digits come with Nibble. `get` downloads over HTTPS and checks the "
      "hashes\n"
      "before it writes; NIBBLE_DATA_MIRROR=URL asks URL/NAME/FILE instead of the known "
      "servers.\n\n"
      "Examples:\n"
      "  nibble data list                what is known and where it is\n"
      "  nibble data check mnist         read it and compare its hashes\n"
      "  nibble data check imagenet/val  decode every picture, name the broken ones\n"
      "  nibble data get cifar10         download it, or say what to put where\n"
      "  nibble data export cifar10 --out cifar10-png\n"
      "  nibble data preprocess r50.nib --data imagenet/val --out tensors");

  CLI::App& list = *verb.add_subcommand("list", "the known data sets and where they are");
  list.add_flag("--json", flags->is_json, "print JSON");
  list.callback([flags] { print_list(flags->is_json); });

  CLI::App& checked = *verb.add_subcommand(
      "check", "read data sets and compare their hashes (exit code 1: one differs)");
  checked
      .add_option("NAME", flags->names,
                  "the data sets, without it all that are here; or paths of pictures (folders,\n"
                  "archives), all of which are decoded: broken ones are named and counted")
      ->type_name("");
  checked.add_flag("--json", flags->is_json, "print JSON");
  checked.callback([flags] { check(*flags); });

  CLI::App& got = *verb.add_subcommand("get", "download a data set, or say what to put where");
  got.add_option("NAME", flags->names, "the data set")->type_name("")->required()->expected(1);
  got.callback([flags] { get(flags->names.front()); });

  add_data_export(verb);
  add_data_preprocess(verb);
}

}  // namespace nibble
