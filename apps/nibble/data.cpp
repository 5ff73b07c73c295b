// SPDX-License-Identifier: Apache-2.0
// nibble data: which data sets are here, whether they are right, where to get them.
#include <fmt/format.h>

#include <array>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/json.h"
#include "apps/nibble/verb.h"
#include "nibble/core/error.h"
#include "nibble/core/hash.h"
#include "nibble/data/catalog.h"
#include "nibble/data/dataset.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

struct Source {
  std::string_view name;
  std::string_view address;
  std::string_view files;
};

constexpr std::string_view kIdxFiles =
    "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz, "
    "t10k-labels-idx1-ubyte.gz (or unpacked, without .gz)";
constexpr std::array kSources = {
    Source{"digits", "data/digits in the source tree of Nibble", "images.idx3.gz, labels.idx1.gz"},
    Source{"mnist", "https://ossci-datasets.s3.amazonaws.com/mnist/", kIdxFiles},
    Source{"fashion-mnist",
           "https://github.com/zalandoresearch/fashion-mnist (data/fashion), or Debian's package "
           "dataset-fashion-mnist, which is found by itself",
           kIdxFiles},
    Source{"cifar10", "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
           "data_batch_1.bin to data_batch_5.bin and test_batch.bin, also in cifar-10-batches-bin"},
};

struct Flags {
  std::vector<std::string> names;
  bool is_json = false;
};

const KnownDataset& known_or_fail(const std::string& name) {
  const KnownDataset* known = find_known_dataset(name);
  if (known != nullptr) return *known;
  std::string names;
  for (const KnownDataset& each : known_datasets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw Error("data", "data set", "'" + name + "'", names);
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
    const std::string got = hex(hash_of(load_dataset(known.name, split)));
    const std::string expected = hex(known.hashes[static_cast<std::size_t>(split)]);
    if (got == expected) return {.state = "ok", .detail = got};
    return {.state = "mismatch", .detail = fmt::format("got {}, expected {}", got, expected)};
  } catch (const Error& error) {
    return {.state = "broken", .detail = error.what()};
  }
}

// What is absent is no failure unless it was asked for.
void check(const Flags& flags) {
  Json list = Json::array();
  std::string wrong;
  for (const KnownDataset* known : chosen(flags.names)) {
    const bool is_found = find_data(known->name).has_value();
    for (const Split split : {Split::train, Split::test}) {
      const Finding finding = is_found ? check_split(*known, split) : Finding{"absent", ""};
      if (!flags.is_json) {
        const std::string detail = finding.detail.empty() ? "" : "  " + finding.detail;
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
  if (!wrong.empty()) throw Error("data check", wrong);
}

void get(const std::string& name) {
  const KnownDataset& known = known_or_fail(name);
  if (const std::optional<fs::path> path = find_data(known.name)) {
    fmt::print("{} is in {}\n", known.name, path->string());
    return;
  }
  for (const Source& source : kSources) {
    if (source.name != known.name) continue;
    fmt::print("from    {}\n", source.address);
    fmt::print("files   {}\n", source.files);
    fmt::print("put in  {}\n", (data_folder() / known.name).string());
    fmt::print("then    nibble data check {}: XXH3 of the decoded train split {}, test split {}\n",
               known.name, hex(known.hashes[0]), hex(known.hashes[1]));
  }
  const std::optional<std::string> command = unpack_command(known.name);
  if (command) fmt::print("or run  {}\n", *command);
  throw Error("data get", fmt::format("{} is not here and Nibble does not download: {}", known.name,
                                      command ? "it has to be unpacked" : "put the files there"));
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("data", "list, check and obtain the data sets");
  const auto flags = std::make_shared<Flags>();
  verb.require_subcommand(1);
  verb.footer(
      "A data set is looked for in $NIBBLE_DATA/NAME, ~/.cache/nibble/NAME, then in the packages\n"
      "of the system. The digits come with Nibble.\n\n"
      "Examples:\n"
      "  nibble data list                what is known and where it is\n"
      "  nibble data check mnist         read it and compare its hashes\n"
      "  nibble data get cifar10         what to put where");

  CLI::App& list = *verb.add_subcommand("list", "the known data sets and where they are");
  list.add_flag("--json", flags->is_json, "print JSON");
  list.callback([flags] { print_list(flags->is_json); });

  CLI::App& checked = *verb.add_subcommand(
      "check", "read data sets and compare their hashes (exit code 1: one differs)");
  checked.add_option("NAME", flags->names, "the data sets; without it all that are here")
      ->type_name("");
  checked.add_flag("--json", flags->is_json, "print JSON");
  checked.callback([flags] { check(*flags); });

  CLI::App& got = *verb.add_subcommand("get", "say where a data set comes from and where it goes");
  got.add_option("NAME", flags->names, "the data set")->type_name("")->required()->expected(1);
  got.callback([flags] { get(flags->names.front()); });
}

}  // namespace nibble
