// SPDX-License-Identifier: Apache-2.0
// Costs as JSON.
#include "placement/cost_cache.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/atomic_file.h"
#include "core/text_file.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/engine/tuning.h"
#include "run_folder/provenance.h"

namespace nibble::inline placement {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json read_cache(const fs::path& path) {
  if (!fs::exists(path)) return Json::object();
  Json cache = Json::parse(read_text_file(path, "place"), nullptr, false);
  return cache.is_object() ? cache : Json::object();
}

Json json_of(const LinkCost& link) {
  return {link.latency, link.picoseconds_a_byte};
}

// Sums over all units and copies of a step stay far below 2^63.
constexpr std::int64_t kMostTime = 100'000'000'000;  // a hundred seconds
constexpr std::int64_t kMostPicosecondsAByte = 10'000'000;
constexpr std::int64_t kMostCrowded = 10'000;  // thousandths

std::int64_t number_of(const Json& json, std::int64_t most) {
  if (!json.is_number_integer())
    throw Error("place", "cost", json.type_name(), "an integer", ErrorKind::input);
  const auto value = json.get<std::int64_t>();
  if (value < 0 || value > most)
    throw Error("place", "cost", std::to_string(value), fmt::format("0 to {}", most),
                ErrorKind::input);
  return value;
}

Nanoseconds time_of(const Json& json) {
  return number_of(json, kMostTime);
}

WireKind wire_of(const Json& json) {
  return static_cast<WireKind>(number_of(json, static_cast<int>(WireKind::mapped)));
}

LinkCost link_of(const Json& json) {
  return {time_of(json.at(0)), number_of(json.at(1), kMostPicosecondsAByte)};
}

Json json_of(const CopyCost& copy) {
  return {copy.leave, copy.travel, copy.ask, copy.arrive};
}

CopyCost copy_of(const Json& json) {
  return {time_of(json.at(0)), time_of(json.at(1)), time_of(json.at(2)), time_of(json.at(3))};
}

Json json_of(const std::vector<std::array<Nanoseconds, 2>>& times) {
  Json list = Json::array();
  for (const auto& each : times) list.push_back({each[0], each[1]});
  return list;
}

std::vector<std::array<Nanoseconds, 2>> times_of(const Json& json) {
  std::vector<std::array<Nanoseconds, 2>> times;
  for (const Json& each : json) times.push_back({time_of(each.at(0)), time_of(each.at(1))});
  return times;
}

}  // namespace

std::string hardware_fingerprint(const std::array<std::string, 2>& devices) {
  return fmt::format("{}; {}; {}; {}", build_identity(), machine_name(thread_count()), devices[0],
                     devices[1]);
}

fs::path cost_cache_path() {
  if (const char* given = std::getenv("NIBBLE_PLACEMENT"); given != nullptr && *given != '\0')
    return given;
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "." : home) / ".cache" / "nibble" / "placement.json";
}

std::optional<StepCosts> cached_costs(const fs::path& path, const std::string& hardware,
                                      const std::string& work, std::size_t units) {
  const Json cache = read_cache(path);
  try {
    if (!cache.contains(hardware) || !cache.at(hardware).contains(work)) return std::nullopt;
    const Json& found = cache.at(hardware).at(work);
    StepCosts costs;
    costs.units = times_of(found.at("units"));
    costs.asks = times_of(found.at("asks"));
    for (const Json& each : found.at("copies"))
      costs.copies.push_back({copy_of(each.at(0)), copy_of(each.at(1))});
    costs.crowded = number_of(found.at("crowded"), kMostCrowded);
    costs.wire = wire_of(found.at("wire"));
    for (const Json& each : found.at("wires"))
      costs.wires.push_back({wire_of(each.at(0)), {link_of(each.at(1)), link_of(each.at(2))}});
    for (std::size_t i = 0; i < 2; ++i) {
      costs.links[i] = link_of(found.at("links").at(i));
      costs.runs_ahead[i] = found.at("runs_ahead").at(i).get<bool>();
      costs.wakes[i] = time_of(found.at("wakes").at(i));
    }
    if (costs.units.size() != units) return std::nullopt;
    return costs;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {  // what no device takes is as good as no entry
    return std::nullopt;
  }
}

void cache_costs(const fs::path& path, const std::string& hardware, const std::string& work,
                 const StepCosts& costs) {
  Json cache = read_cache(path);
  Json copies = Json::array();
  for (const auto& each : costs.copies) copies.push_back({json_of(each[0]), json_of(each[1])});
  Json wires = Json::array();
  for (const WireCost& each : costs.wires)
    wires.push_back({static_cast<int>(each.kind), json_of(each.links[0]), json_of(each.links[1])});
  if (!cache[hardware].is_object()) cache[hardware] = Json::object();
  cache[hardware][work] = {{"units", json_of(costs.units)},
                           {"asks", json_of(costs.asks)},
                           {"copies", copies},
                           {"crowded", costs.crowded},
                           {"wire", static_cast<int>(costs.wire)},
                           {"wires", wires},
                           {"links", {json_of(costs.links[0]), json_of(costs.links[1])}},
                           {"wakes", {costs.wakes[0], costs.wakes[1]}},
                           {"runs_ahead", {costs.runs_ahead[0], costs.runs_ahead[1]}}};
  std::error_code ignored;  // the file says what is wrong
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  AtomicFile file(path);
  file.stream() << cache.dump(1) << "\n";
  file.commit();
}

}  // namespace nibble::inline placement
