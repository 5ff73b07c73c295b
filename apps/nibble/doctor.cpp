// SPDX-License-Identifier: Apache-2.0
// nibble doctor: what was built, what this machine offers, which data is here.
#include <fmt/format.h>

#include <array>
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "apps/nibble/verb.h"
#include "backend/cuda/register.h"
#include "core/isa.h"
#include "cuda/driver.h"
#include "data/catalog.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/cuda/device.h"
#include "nibble/engine/tuning.h"
#include "nibble/version.h"
#include "run_folder/provenance.h"
#include "tasks/json.h"

// Told by the build: "name=version", "name=found" or "name=-", by commas.
#ifndef NIBBLE_PARTS
#define NIBBLE_PARTS ""
#endif

namespace nibble {
namespace {

constexpr std::array kModels = {"resnet50-int4", "resnet20-cifar10"};

// What a build may do without, and OpenMP: its name here and in the build.
constexpr std::array<std::pair<const char*, std::string_view>, 9> kParts = {{
    {"openmp", "OpenMP"},
    {"cuda", "CUDA"},
    {"onednn", "oneDNN"},
    {"onnx", "libonnx"},
    {"mpi", "Open MPI"},
    {"jpeg", "libjpeg"},
    {"png", "libpng"},
    {"curl", "libcurl"},
    {"zlib", "zlib"},
}};

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

// A version, true where none is known, false where the part is missing.
Json part_state(std::string_view name) {
  std::istringstream rows(NIBBLE_PARTS);
  for (std::string row; std::getline(rows, row, ',');) {
    const std::size_t split = row.find('=');
    if (std::string_view(row).substr(0, split) != name) continue;
    const std::string state = row.substr(split + 1);
    if (state == "-") return false;
    return state == "found" ? Json(true) : Json(state);
  }
  return false;
}

Json parts_of_build() {
  Json parts = Json::object();
  for (const auto& [name, name_in_build] : kParts) parts[name] = part_state(name_in_build);
  if (!cuda::is_built()) parts["cuda"] = false;  // the toolkit may be there and not be used
  return parts;
}

// Which instructions multiply on each GPU, or why it cannot be used.
Json gpu_products() {
  Json products = Json::array();
  for (int device = 0; device < cuda::device_count(); ++device) {
    try {
      products.push_back(cuda_products(device));
    } catch (const Error& error) {
      products.push_back(error.what());
    }
  }
  return products;
}

Json examine() {
  Json isas = Json::array();
  for (const Isa isa : supported_isas()) isas.push_back(name_of(isa));
  Json data = Json::object();
  for (const KnownDataset& known : known_datasets()) {
    data[std::string(known.name)] = find_data(known.name).has_value();
  }
  for (const char* name : kModels) data[name] = find_data(name).has_value();
  const cuda::Driver driver = cuda::loaded_driver();
  const TuningFile tuning = find_tuning(machine_name(thread_count()));
  return {{"version", kVersion},
          {"compiler", compiler()},
          {"build_type", build_type()},
          {"parts", parts_of_build()},
          {"cpu", this_machine().cpu},
          {"isas", isas},
          {"isa", name_of(active_isa())},
          {"NIBBLE_ISA", environment("NIBBLE_ISA")},
          {"threads", thread_count()},
          {"gpu",
           {{"names", driver.gpus},
            {"driver", driver.version},
            {"usable", cuda::device_count()},
            {"products", gpu_products()}}},
          {"mpi_takes_device_memory", mpi_takes_device_memory()},
          {"tuning",
           {{"file", tuning.to_string()},
            {"is_active", tuning.state == TuningFile::State::active},
            {"shapes", tuning.tuning.cuts.size()}}},
          {"data_folder", data_folder().string()},
          {"data", data}};
}

// "NVIDIA H200, driver 550.54.15", and why it is not used where it is not.
std::string gpu_words(const Json& gpu, bool has_cuda) {
  if (gpu["names"].empty()) return "none found";
  std::string words;
  for (const Json& name : gpu["names"]) words += name.get<std::string>() + ", ";
  words += "driver " + gpu["driver"].get<std::string>();
  if (!has_cuda) return words + "; not used: this build has no CUDA";
  if (gpu["usable"] == 0) return words + "; not used: " + cuda::why_no_device();
  words += "; int8 products by";
  for (const Json& product : gpu["products"]) words += " " + product.get<std::string>();
  return words;
}

// "a yes, b no, c 1.2"
std::string list_words(const Json& states) {
  std::string words;
  for (const auto& [name, state] : states.items()) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name,
                         state.is_string() ? state.get<std::string>()
                         : state           ? "yes"
                                           : "no");
  }
  return words;
}

void print_text(const Json& found) {
  const auto text = [&](const char* key) { return found[key].get<std::string>(); };
  std::string isas;
  for (const Json& isa : found["isas"]) isas += " " + isa.get<std::string>();
  const std::string forced = text("NIBBLE_ISA");
  fmt::print("nibble    {}\n", text("version"));
  fmt::print("compiler  {}\n", text("compiler"));
  fmt::print("build     {}\n", text("build_type"));
  fmt::print("parts     {}\n", list_words(found["parts"]));
  fmt::print("cpu       {}\n", text("cpu"));
  fmt::print("isa       {} runs{}; this machine has{}\n", text("isa"),
             forced.empty() ? "" : " (NIBBLE_ISA says so)", isas);
  fmt::print("threads   {}\n", found["threads"].get<int>());
  fmt::print("gpu       {}\n", gpu_words(found["gpu"], found["parts"]["cuda"] != false));
  if (found["parts"]["mpi"] != false) {
    fmt::print("ranks     numbers of GPUs go to other machines {}\n",
               found["mpi_takes_device_memory"]
                   ? "as they lie: this MPI takes device pointers"
                   : "through pinned memory: this MPI takes no device pointers");
  }
  fmt::print("tuning    {}\n", found["tuning"]["file"].get<std::string>());
  fmt::print("data      {}: {}\n", text("data_folder"), list_words(found["data"]));
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
