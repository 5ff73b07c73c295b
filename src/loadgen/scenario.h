// SPDX-License-Identifier: Apache-2.0
// LoadGen's scenarios and modes, by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace nibble::inline loadgen {

enum class Scenario : std::uint8_t { single_stream, multi_stream, server, offline };
enum class LoadMode : std::uint8_t { performance, accuracy, submission, find_peak };

// Whether it has one query at a time.
constexpr bool is_stream(Scenario scenario) {
  return scenario == Scenario::single_stream || scenario == Scenario::multi_stream;
}

// "Offline", "Server", "SingleStream", "MultiStream", as configuration files have them.
std::string_view name_of(Scenario scenario);
Scenario parse_scenario(std::string_view name);

std::string_view name_of(LoadMode mode);  // "find-peak"
LoadMode parse_load_mode(std::string_view name);

}  // namespace nibble::inline loadgen
