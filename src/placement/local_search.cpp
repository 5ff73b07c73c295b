// SPDX-License-Identifier: Apache-2.0
// Hill climbing over placements.
#include "placement/local_search.h"

#include <algorithm>
#include <set>

namespace nibble::inline placement {
namespace {

constexpr int kMostTries = 20'000;
constexpr std::size_t kLongestRun = 8;

using Units = std::vector<std::size_t>;

// With all that is tied to them, without those that cannot be moved.
Units whole(const StepGraph& graph, const Units& units) {
  Units all;
  for (std::size_t i = 0; i < graph.units.size(); ++i) {
    const bool is_one = std::ranges::any_of(
        units, [&](std::size_t unit) { return graph.group[unit] == graph.group[i]; });
    if (is_one && !graph.units[i].is_fixed) all.push_back(i);
  }
  return all;
}

std::vector<Units> moves_of(const StepGraph& graph) {
  std::set<Units> moves;
  const std::size_t count = graph.units.size();
  for (std::size_t begin = 0; begin < count; ++begin) {
    Units run;
    for (std::size_t i = begin; i < std::min(count, begin + kLongestRun); ++i) {
      run.push_back(i);
      moves.insert(whole(graph, run));
    }
    Units passes;
    for (std::size_t i = 0; i < count; ++i) {
      if (graph.units[i].unit.node == graph.units[begin].unit.node) passes.push_back(i);
    }
    moves.insert(whole(graph, passes));
  }
  return {moves.begin(), moves.end()};
}

}  // namespace

Sides improved(const StepGraph& graph, const StepCosts& costs, Sides sides,
               const std::function<bool(const Sides&)>& allows) {
  const std::vector<Units> moves = moves_of(graph);
  Nanoseconds length = time_line(graph, costs, sides).length;
  int tries = 0;
  for (bool has_moved = true; has_moved && tries < kMostTries;) {
    has_moved = false;
    for (const Units& move : moves) {
      for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
        Sides tried = sides;
        for (const std::size_t unit : move) tried[unit] = side;
        if (tried == sides || !allows(tried)) continue;
        ++tries;
        const Nanoseconds other = time_line(graph, costs, tried).length;
        if (other >= length) continue;
        length = other;
        sides = std::move(tried);
        has_moved = true;
      }
    }
  }
  return sides;
}

}  // namespace nibble::inline placement
