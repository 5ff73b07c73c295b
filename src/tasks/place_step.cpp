// SPDX-License-Identifier: Apache-2.0
// Plans as text and as JSON.
#include "tasks/place_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/name.h"
#include "integer_step/choose_place.h"
#include "placement/auto_place.h"
#include "placement/float_work.h"
#include "placement/integer_work.h"

namespace nibble::inline tasks {
namespace {

double microseconds(Nanoseconds time) {
  return static_cast<double>(time) / 1e3;
}

double milliseconds(Nanoseconds time) {
  return static_cast<double>(time) / 1e6;
}

// Bytes that leave a unit for the other device.
std::int64_t bytes_behind(const StepPlan& plan, std::size_t unit) {
  std::int64_t bytes = 0;
  for (const Flow& flow : plan.graph.flows) {
    if (flow.from == unit && crosses(flow, plan.best().sides)) bytes += flow.bytes;
  }
  return bytes;
}

std::string wire_text(const StepPlan& plan, const WireCost& wire) {
  std::string text;
  for (std::size_t from = 0; from < 2; ++from) {
    const LinkCost& link = wire.links[from];
    text += fmt::format("{} to {}, {}: {:.1f} us + {:.3f} ns a byte\n", plan.devices[from],
                        plan.devices[1 - from], name_of(wire.kind), microseconds(link.latency),
                        static_cast<double>(link.picoseconds_a_byte) / 1e3);
  }
  return text;
}

Json json_of(const LinkCost& link) {
  return {{"latency_us", microseconds(link.latency)},
          {"ns_a_byte", static_cast<double>(link.picoseconds_a_byte) / 1e3}};
}

Json costs_json(const StepPlan& plan, std::size_t unit) {
  Json costs = Json::object();
  costs[plan.devices[0]] = microseconds(plan.costs.units[unit][0]);
  if (plan.has_choice() && !plan.graph.units[unit].is_fixed)
    costs[plan.devices[1]] = microseconds(plan.costs.units[unit][1]);
  return costs;
}

PlanRequest request_of(std::string_view place, const RunSettings& run, bool uses_cache) {
  const AutoPlace asked = parse_auto(place);
  return {.devices = asked.devices,
          .images = run.batch,
          .most_memory = asked.most_memory,
          .uses_cache = uses_cache};
}

}  // namespace

StepPlan plan_of(const IntegerRecipe& recipe, bool uses_cache) {
  return plan_step(recipe.network, recipe.options,
                   request_of(recipe.options.place, recipe, uses_cache));
}

StepPlan plan_of(const Recipe& recipe, bool uses_cache) {
  return plan_step(recipe, request_of(recipe.place, recipe, uses_cache));
}

std::optional<StepPlan> place_recipe(IntegerRecipe& recipe) {
  if (!is_auto(recipe.options.place)) return std::nullopt;
  check_integers(recipe);
  if (const AutoPlace asked = parse_auto(recipe.options.place); !asked.has_choice()) {
    choose_place(asked.devices[0], recipe.options);
    return std::nullopt;
  }
  StepPlan plan = plan_of(recipe);
  choose_place(plan.rules, recipe.options);
  return plan;
}

std::optional<StepPlan> place_recipe(Recipe& recipe) {
  if (!is_auto(recipe.place)) return std::nullopt;
  if (const AutoPlace asked = parse_auto(recipe.place); !asked.has_choice()) {
    recipe.place = asked.devices[0];
    return std::nullopt;
  }
  StepPlan plan = plan_of(recipe);
  recipe.place = plan.rules;
  return plan;
}

std::string summary_of(const StepPlan& plan) {
  const PlanCandidate& best = plan.best();
  return fmt::format("{}: {:.3f} ms a step of {} images, {} bytes across; {}", best.name,
                     milliseconds(best.measured), plan.images,
                     bytes_crossing(plan.graph, best.sides), plan.why);
}

std::string table_of(const StepPlan& plan) {
  std::size_t width = 4;
  for (const PlacedUnit& each : plan.graph.units) width = std::max(width, width_of(each.node));
  const auto cost_head = [](const std::string& device) { return shortened(device, 10) + " us"; };
  std::string text = fmt::format("{:<{}}  {:<15}  {:<10} {:>13}", "node", width, "pass", "device",
                                 cost_head(plan.devices[0]));
  if (plan.has_choice())
    text += fmt::format(" {:>13} {:>14}", cost_head(plan.devices[1]), "bytes across");
  text += "\n";
  for (std::size_t i = 0; i < plan.graph.units.size(); ++i) {
    const PlacedUnit& unit = plan.graph.units[i];
    text +=
        fmt::format("{:<{}}  {:<15}  {:<10} {:>13.1f}", unit.node, width, word_of(unit.unit.pass),
                    plan.devices[plan.best().sides[i]], microseconds(plan.costs.units[i][0]));
    if (plan.has_choice()) {
      const std::int64_t bytes = bytes_behind(plan, i);
      const std::string there =
          unit.is_fixed ? "" : fmt::format("{:.1f}", microseconds(plan.costs.units[i][1]));
      text += fmt::format(" {:>13} {:>14}", there, bytes == 0 ? "" : fmt::format("{}", bytes));
    }
    text += "\n";
  }
  text += "\n";
  for (const WireCost& wire : plan.costs.wires) text += wire_text(plan, wire);
  if (plan.has_choice()) text += fmt::format("copies are {}\n\n", name_of(plan.costs.wire));
  text += fmt::format("{:<20} {:>12} {:>12} {:>14}\n", "placement", "predicted ms", "measured ms",
                      "bytes across");
  for (const PlanCandidate& each : plan.candidates) {
    text += fmt::format("{:<20} {:>12.3f} {:>12.3f} {:>14}{}\n", each.name,
                        milliseconds(each.predicted), milliseconds(each.measured),
                        bytes_crossing(plan.graph, each.sides),
                        &each == &plan.best() ? "  <- taken" : "");
  }
  text += fmt::format("\ncosts {}; {}\n--place '{}'\n",
                      plan.is_from_cache ? "from the cache" : "measured now", plan.why, plan.rules);
  return text;
}

Json json_of(const StepPlan& plan) {
  Json json = {
      {"devices", plan.devices}, {"batch", plan.images}, {"costs_from_cache", plan.is_from_cache},
      {"place", plan.rules},     {"why", plan.why},      {"chosen", plan.best().name}};
  if (plan.has_choice()) {
    json["links"] = {{plan.devices[0] + " to " + plan.devices[1], json_of(plan.costs.links[0])},
                     {plan.devices[1] + " to " + plan.devices[0], json_of(plan.costs.links[1])}};
    json["wire"] = name_of(plan.costs.wire);
    for (const WireCost& each : plan.costs.wires) {
      json["wires"][std::string(name_of(each.kind))] = {
          {plan.devices[0] + " to " + plan.devices[1], json_of(each.links[0])},
          {plan.devices[1] + " to " + plan.devices[0], json_of(each.links[1])}};
    }
  }
  for (const PlanCandidate& each : plan.candidates) {
    json["candidates"].push_back({{"name", each.name},
                                  {"predicted_ms", milliseconds(each.predicted)},
                                  {"measured_ms", milliseconds(each.measured)},
                                  {"bytes_across", bytes_crossing(plan.graph, each.sides)}});
  }
  for (std::size_t i = 0; i < plan.graph.units.size(); ++i) {
    const PlacedUnit& unit = plan.graph.units[i];
    json["units"].push_back({{"node", unit.node},
                             {"pass", word_of(unit.unit.pass)},
                             {"device", plan.devices[plan.best().sides[i]]},
                             {"us", costs_json(plan, i)},
                             {"bytes_across", bytes_behind(plan, i)}});
  }
  json["crossings"] = Json::array();
  for (const Flow& flow : plan.graph.flows) {
    if (crosses(flow, plan.best().sides))
      json["crossings"].push_back({{"tensor", flow.tensor},
                                   {"from", plan.devices[plan.best().sides[flow.from]]},
                                   {"bytes", flow.bytes}});
  }
  return json;
}

}  // namespace nibble::inline tasks
