// SPDX-License-Identifier: Apache-2.0
// Names and back.
#include "loadgen/scenario.h"

#include <array>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

constexpr std::array<std::string_view, 4> kScenarios = {"SingleStream", "MultiStream", "Server",
                                                        "Offline"};
constexpr std::array<std::string_view, 4> kModes = {"performance", "accuracy", "submission",
                                                    "find-peak"};

template <class Kind>
Kind parse(const std::array<std::string_view, 4>& names, std::string_view name,
           std::string_view what) {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Kind>(i);
    all.append(i == 0 ? "" : ", ").append(names[i]);
  }
  throw Error("loadgen", what, name, all);
}

}  // namespace

std::string_view name_of(Scenario scenario) {
  return kScenarios[static_cast<std::size_t>(scenario)];
}
Scenario parse_scenario(std::string_view name) {
  return parse<Scenario>(kScenarios, name, "scenario");
}

std::string_view name_of(LoadMode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}
LoadMode parse_load_mode(std::string_view name) {
  return parse<LoadMode>(kModes, name, "mode");
}

}  // namespace nibble::inline loadgen
