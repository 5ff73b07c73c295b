// SPDX-License-Identifier: Apache-2.0
// Units are nodes between a source, the first device, and a sink, the second one. What a unit costs
// on the second device is the pipe from the source, which is cut where the unit lies beyond; what
// it costs on the first is the pipe to the sink. A tensor has a node for each direction, so that it
// is paid once however many units read it.
#include "placement/cut.h"

#include <algorithm>

#include "placement/max_flow.h"

namespace nibble::inline placement {
namespace {

constexpr std::size_t kSource = 0;  // the first device
constexpr std::size_t kSink = 1;    // the second
constexpr std::size_t kFirstUnit = 2;

std::vector<std::size_t> groups_of(const StepGraph& graph) {
  std::vector<std::size_t> groups = graph.group;
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

void move_group(const StepGraph& graph, std::size_t group, std::uint8_t side, Sides& sides) {
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (graph.group[i] == group && !graph.units[i].is_fixed) sides[i] = side;
  }
}

// The move to `side` that leaves the least sum among those that `allows` takes; false: none.
template <class Allows>
bool make_best_move(const StepGraph& graph, const StepCosts& costs, std::uint8_t side,
                    const Allows& allows, Sides& sides) {
  Sides best;
  Nanoseconds least = 0;
  for (const std::size_t group : groups_of(graph)) {
    Sides moved = sides;
    move_group(graph, group, side, moved);
    if (moved == sides || !allows(moved)) continue;
    const Nanoseconds sum = sum_of(graph, costs, moved);
    if (!best.empty() && sum >= least) continue;
    least = sum;
    best = std::move(moved);
  }
  if (best.empty()) return false;
  sides = std::move(best);
  return true;
}

}  // namespace

Sides cheapest_cut(const StepGraph& graph, const StepCosts& costs, std::int64_t penalty) {
  MaxFlow flow(kFirstUnit + graph.units.size());
  const auto node = [](std::size_t unit) { return kFirstUnit + unit; };
  for (std::size_t i = 0; i < graph.units.size(); ++i) {
    const Nanoseconds kept = graph.units[i].memory * penalty / 1000;
    flow.add_pipe(kSource, node(i),
                  graph.units[i].is_fixed ? MaxFlow::kEndless : costs.units[i][1] + kept);
    flow.add_pipe(node(i), kSink, costs.units[i][0]);
    const std::size_t tied = graph.group[i];
    if (tied == i) continue;
    flow.add_pipe(node(i), node(tied), MaxFlow::kEndless);
    flow.add_pipe(node(tied), node(i), MaxFlow::kEndless);
  }
  for (std::size_t i = 0; i < graph.flows.size(); ++i) {
    const Flow& each = graph.flows[i];
    const std::size_t there = flow.add_node();  // beyond the cut as soon as one reader is
    const std::size_t back = flow.add_node();   // before the cut as soon as one reader is
    const Nanoseconds kept = each.is_passing ? 0 : each.memory() * penalty / 1000;
    flow.add_pipe(node(each.from), there, costs.copy(graph, i, 0).sum() + kept);
    flow.add_pipe(back, node(each.from), costs.copy(graph, i, 1).sum());
    for (const std::size_t reader : each.to) {
      flow.add_pipe(there, node(reader), MaxFlow::kEndless);
      flow.add_pipe(node(reader), back, MaxFlow::kEndless);
    }
  }
  flow.run(kSource, kSink);
  Sides sides;
  for (std::size_t i = 0; i < graph.units.size(); ++i)
    sides.push_back(flow.is_on_source_side(node(i)) ? 0 : 1);
  return sides;
}

// What stays, and the most of what passes that is there at once: from the unit that makes it to the
// last one that reads it.
std::int64_t memory_of_second(const StepGraph& graph, const Sides& sides) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < graph.units.size(); ++i) {
    if (sides[i] == 1) bytes += graph.units[i].memory;
  }
  std::vector<std::int64_t> change(graph.units.size() + 1);  // of what passes, before a unit
  for (const Flow& flow : graph.flows) {
    const bool is_made_there = sides[flow.from] == 1;
    if (!is_made_there && !crosses(flow, sides)) continue;
    if (flow.is_passing) {
      change[flow.from] += flow.memory();
      change[std::ranges::max(flow.to) + 1] -= flow.memory();
    } else if (!is_made_there) {
      bytes += flow.memory();
    }
  }
  std::int64_t passing = 0;
  std::int64_t most = 0;
  for (const std::int64_t each : change) most = std::max(most, passing += each);
  return bytes + most;
}

Sides cut_within(const StepGraph& graph, const StepCosts& costs, std::int64_t most_bytes) {
  const auto fits = [&](const Sides& sides) {
    return memory_of_second(graph, sides) <= most_bytes;
  };
  Sides sides = cheapest_cut(graph, costs);
  if (fits(sides)) return sides;
  // A microsecond a byte. A unit may be worth more, and what passes pays nothing: where no cut
  // fits, the moves below begin with everything on the first device.
  constexpr std::int64_t kMostPenalty = 1'000'000;
  std::int64_t low = 0;
  std::int64_t high = kMostPenalty;
  sides.assign(sides.size(), 0);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    Sides tried = cheapest_cut(graph, costs, middle);
    if (fits(tried)) {
      high = middle;
      sides = std::move(tried);
    } else {
      low = middle;
    }
  }
  Nanoseconds sum = sum_of(graph, costs, sides);
  for (Sides tried = sides; make_best_move(graph, costs, 1, fits, tried);) {
    const Nanoseconds other = sum_of(graph, costs, tried);
    if (other >= sum) break;
    sum = other;
    sides = tried;
  }
  return sides;
}

}  // namespace nibble::inline placement
