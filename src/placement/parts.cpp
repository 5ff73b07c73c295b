// SPDX-License-Identifier: Apache-2.0
// Parts layer by layer, for what they read is then often theirs.
#include "placement/parts.h"

#include <algorithm>
#include <map>

#include "placement/cut.h"

namespace nibble::inline placement {
namespace {

// Units that stay together, by their first layer.
std::vector<std::vector<std::size_t>> movable_groups(const StepGraph& graph) {
  std::map<std::size_t, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < graph.units.size(); ++i) groups[graph.group[i]].push_back(i);
  std::erase_if(groups, [&](const auto& each) {
    return std::ranges::any_of(each.second,
                               [&](std::size_t unit) { return graph.units[unit].is_fixed; });
  });
  std::vector<std::vector<std::size_t>> all;
  for (auto& [group, units] : groups) all.push_back(std::move(units));
  const auto layer_of = [&](const std::vector<std::size_t>& units) {
    std::size_t first = graph.units[units[0]].unit.node;
    for (const std::size_t unit : units) first = std::min(first, graph.units[unit].unit.node);
    return first;
  };
  std::ranges::stable_sort(all, {}, layer_of);
  return all;
}

}  // namespace

bool fits_within(const StepGraph& graph, const Sides& sides, std::int64_t most_memory) {
  return most_memory == 0 || memory_of_second(graph, sides) <= most_memory;
}

std::vector<Sides> parts_within(const StepGraph& graph, std::int64_t most_memory) {
  if (fits_within(graph, all_on(graph, 1), most_memory)) return {all_on(graph, 1)};
  std::vector<Sides> parts;
  for (const std::vector<std::size_t>& units : movable_groups(graph)) {
    const auto with = [&](Sides sides) {
      for (const std::size_t unit : units) sides[unit] = 1;
      return sides;
    };
    if (!parts.empty()) {
      if (Sides more = with(parts.back()); fits_within(graph, more, most_memory)) {
        parts.back() = std::move(more);
        continue;
      }
    }
    if (Sides alone = with(all_on(graph, 0)); fits_within(graph, alone, most_memory))
      parts.push_back(std::move(alone));
  }
  return parts;
}

std::ptrdiff_t part_with(const std::vector<Sides>& parts, std::size_t unit) {
  const auto found =
      std::ranges::find_if(parts, [&](const Sides& sides) { return sides[unit] == 1; });
  return found == parts.end() ? -1 : found - parts.begin();
}

Sides sides_by_chance_within(const StepGraph& graph, std::uint32_t number,
                             const std::vector<Sides>& parts, std::int64_t most_memory) {
  Sides sides = sides_by_chance(graph, number);
  if (fits_within(graph, sides, most_memory)) return sides;
  if (parts.empty()) return all_on(graph, 0);
  const Sides& part = parts[number % parts.size()];
  for (std::size_t i = 0; i < sides.size(); ++i) sides[i] &= part[i];
  return fits_within(graph, sides, most_memory) ? sides : all_on(graph, 0);
}

}  // namespace nibble::inline placement
