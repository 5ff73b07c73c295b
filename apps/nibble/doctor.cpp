// SPDX-License-Identifier: Apache-2.0
// nibble doctor: what was built, what this machine offers, which data is here.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "apps/nibble/json.h"
#include "apps/nibble/verb.h"
#include "nibble/core/isa.h"
#include "nibble/core/parallel.h"
#include "nibble/data/catalog.h"
#include "nibble/version.h"

// Told by the build.
#ifndef NIBBLE_BUILD_TYPE
#define NIBBLE_BUILD_TYPE "unknown"
#endif
#ifndef NIBBLE_HAS_CUDA
#define NIBBLE_HAS_CUDA 0
#endif

namespace nibble {
namespace {

constexpr std::array kModels = {"resnet50-int4", "resnet20-cifar10"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

// x86 names its processors in /proc/cpuinfo; elsewhere the architecture has to do.
std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname names = {};
  return uname(&names) == 0 ? names.machine : "unknown";
}

Json examine() {
  Json isas = Json::array();
  for (const Isa isa : supported_isas()) isas.push_back(name_of(isa));
  Json data = Json::object();
  for (const KnownDataset& known : known_datasets()) {
    data[std::string(known.name)] = find_data(known.name).has_value();
  }
  for (const char* name : kModels) data[name] = find_data(name).has_value();
  return {{"version", kVersion},
          {"compiler", compiler()},
          {"build_type", NIBBLE_BUILD_TYPE},
          {"parts", {{"openmp", true}, {"cuda", NIBBLE_HAS_CUDA != 0}}},
          {"cpu", cpu_name()},
          {"isas", isas},
          {"isa", name_of(active_isa())},
          {"NIBBLE_ISA", environment("NIBBLE_ISA")},
          {"threads", thread_count()},
          {"data_folder", data_folder().string()},
          {"data", data}};
}

void print_text(const Json& found) {
  const auto text = [&](const char* key) { return found[key].get<std::string>(); };
  const auto list = [](const Json& flags) {
    std::string words;
    for (const auto& [name, is_there] : flags.items()) {
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, is_there ? "yes" : "no");
    }
    return words;
  };
  std::string isas;
  for (const Json& isa : found["isas"]) isas += " " + isa.get<std::string>();
  const std::string forced = text("NIBBLE_ISA");
  fmt::print("nibble    {}\n", text("version"));
  fmt::print("compiler  {}\n", text("compiler"));
  fmt::print("build     {}\n", text("build_type"));
  fmt::print("parts     {}\n", list(found["parts"]));
  fmt::print("cpu       {}\n", text("cpu"));
  fmt::print("isa       {} runs{}; this machine has{}\n", text("isa"),
             forced.empty() ? "" : " (NIBBLE_ISA says so)", isas);
  fmt::print("threads   {}\n", found["threads"].get<int>());
  fmt::print("data      {}: {}\n", text("data_folder"), list(found["data"]));
}

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand(
      "doctor", "say what was built, what this machine offers, which data is here");
  const auto is_json = std::make_shared<bool>(false);
  verb.add_flag("--json", *is_json, "print JSON");
  verb.footer(
      "Examples:\n"
      "  nibble doctor\n"
      "  NIBBLE_ISA=portable nibble doctor --json");
  verb.callback([is_json] {
    const Json found = examine();
    if (*is_json)
      fmt::print("{}\n", found.dump(2));
    else
      print_text(found);
  });
}

}  // namespace nibble
