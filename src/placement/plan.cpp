// SPDX-License-Identifier: Apache-2.0
// From costs to a plan.
#include "placement/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "backend/lost_device.h"
#include "backend/place_rules.h"
#include "core/warning.h"
#include "nibble/core/error.h"
#include "placement/candidate_turns.h"
#include "placement/cost_cache.h"
#include "placement/cut.h"
#include "placement/local_search.h"
#include "placement/parts.h"

namespace nibble::inline placement {
namespace {

constexpr int kTurns = 7;                     // of real steps
constexpr double kHopelessShare = 1.3;        // of the quickest's time: no second turn
constexpr std::uint32_t kStartsByChance = 5;  // of the search for short time lines
constexpr std::size_t kMostImproved = 4;      // of what it finds is tried: the time line errs, too
constexpr double kCloseShare = 0.9;           // of the slower one's time: more turns decide
constexpr int kMostTurns = 41;                // of these two
constexpr Nanoseconds kTimeOfTurns = 1'000'000'000;
constexpr double kWorthwhileShare = 0.98;  // of a pure placement's time: less is noise

bool is_pure(const StepGraph& graph, const Sides& sides) {
  return sides == all_on(graph, 0) || sides == all_on(graph, 1);
}

void take_costs(const PlannedWork& work, const PlanRequest& request, StepPlan& plan) {
  if (request.uses_cache) {
    plan.graph = work.graph();
    const auto found = cached_costs(cost_cache_path(), hardware_fingerprint(work.hardware()),
                                    work.name(), plan.graph.units.size());
    if (found) {
      plan.costs = *found;
      plan.is_from_cache = true;
      return;
    }
  }
  MeasuredStep measured = work.measure();
  plan.graph = std::move(measured.graph);
  plan.costs = std::move(measured.costs);
}

void keep_costs(const PlannedWork& work, const PlanRequest& request, const StepPlan& plan) {
  if (!request.uses_cache || plan.is_from_cache) return;
  try {
    cache_costs(cost_cache_path(), hardware_fingerprint(work.hardware()), work.name(), plan.costs);
  } catch (const Error& error) {  // the plan is as good, it is measured again the next time
    warn(fmt::format("costs are not kept: {}", error.what()));
  }
}

void add_candidates(const PlanRequest& request, StepPlan& plan) {
  const auto fits = [&](const Sides& sides) {
    return fits_within(plan.graph, sides, request.most_memory);
  };
  const auto add = [&](std::string name, Sides sides) {
    const bool is_known = std::ranges::any_of(
        plan.candidates, [&](const PlanCandidate& each) { return each.sides == sides; });
    if (is_known || !fits(sides)) return;
    const Nanoseconds length = time_line(plan.graph, plan.costs, sides).length;
    plan.candidates.push_back({std::move(name), std::move(sides), length});
  };
  add("all on " + plan.devices[0], all_on(plan.graph, 0));
  if (!plan.has_choice()) return;
  add("all on " + plan.devices[1], all_on(plan.graph, 1));
  const Sides cut = request.most_memory == 0
                        ? cheapest_cut(plan.graph, plan.costs)
                        : cut_within(plan.graph, plan.costs, request.most_memory);
  add("minimum cut", cut);
  std::vector<Sides> starts = {cut, all_on(plan.graph, 0), all_on(plan.graph, 1)};
  for (std::uint32_t i = 0; i < kStartsByChance; ++i)
    starts.push_back(sides_by_chance(plan.graph, i));
  std::vector<std::pair<Nanoseconds, Sides>> ends;
  for (const Sides& start : starts) {
    if (!fits(start)) continue;
    Sides moved = improved(plan.graph, plan.costs, start, fits);
    ends.emplace_back(time_line(plan.graph, plan.costs, moved).length, std::move(moved));
  }
  std::ranges::sort(ends);
  const auto [first, last] = std::ranges::unique(ends);
  ends.erase(first, last);
  for (std::size_t i = 0; i < std::min(ends.size(), kMostImproved); ++i)
    add(i == 0 ? "time line" : fmt::format("time line, {}", i + 1), std::move(ends[i].second));
}

bool is_clearly_slower(const PlanCandidate& one, const PlanCandidate& other, double share) {
  return share * static_cast<double>(one.measured) > static_cast<double>(other.measured);
}

// Of those on one device, or of mixtures; null where there is none.
PlanCandidate* quickest(StepPlan& plan, bool is_on_one) {
  PlanCandidate* best = nullptr;
  for (PlanCandidate& each : plan.candidates) {
    if (is_pure(plan.graph, each.sides) == is_on_one &&
        (best == nullptr || each.measured < best->measured))
      best = &each;
  }
  return best;
}

// In turns, so that what else the machine does meets all. Who is far behind after the first turn
// has no other; the best mixture and the best device have more where they are close.
void try_candidates(const PlannedWork& work, const PlanRequest& request, StepPlan& plan) {
  CandidateTurns turns(work, plan, request.most_memory);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (PlanCandidate& each : plan.candidates) {
      turns.take(each);
      if (turn > 0) continue;
      // At once, so that it makes room for the next.
      for (const PlanCandidate& slow : plan.candidates) {
        if (slow.measured > 0 && std::ranges::any_of(plan.candidates, [&](const auto& quick) {
              return quick.measured > 0 && is_clearly_slower(slow, quick, 1 / kHopelessShare);
            }))
          turns.leave(slow);
      }
    }
  }
  PlanCandidate* pure = quickest(plan, true);
  PlanCandidate* mixed = quickest(plan, false);
  if (mixed == nullptr || turns.has_left(*pure) || turns.has_left(*mixed)) return;
  const Nanoseconds end = now() + kTimeOfTurns;
  for (int turn = kTurns; turn < kMostTurns && now() < end; ++turn) {
    if (is_clearly_slower(*pure, *mixed, kCloseShare) ||
        is_clearly_slower(*mixed, *pure, kCloseShare))
      return;
    turns.take(*pure);
    turns.take(*mixed);
  }
}

void choose(StepPlan& plan) {
  const PlanCandidate& pure = *quickest(plan, true);
  const PlanCandidate* mixed = quickest(plan, false);
  const bool is_worthwhile = mixed != nullptr && is_clearly_slower(pure, *mixed, kWorthwhileShare);
  const PlanCandidate& chosen = is_worthwhile ? *mixed : pure;
  plan.chosen = static_cast<std::size_t>(&chosen - plan.candidates.data());
  if (mixed == nullptr) {
    plan.why = plan.has_choice() ? "no mixture promises to be faster than one device"
                                 : "there is one device";
    return;
  }
  plan.why = fmt::format("a real step{} takes {:.3f} ms, {} {:.3f} ms",
                         is_worthwhile ? "" : " of the best mixture",
                         static_cast<double>(mixed->measured) / 1e6, pure.name,
                         static_cast<double>(pure.measured) / 1e6);
}

// Of memory, one after the other, until steps fit: what was asked for, then shares of what is free,
// for a device holds more than is planned. In few figures, so that costs are found again.
std::vector<std::int64_t> limits_of(const PlanRequest& request, std::int64_t free_bytes) {
  std::vector<std::int64_t> limits = {request.most_memory};
  for (const std::int64_t percent : {80, 50, 25}) {
    const auto share = static_cast<std::uint64_t>(free_bytes / 100 * percent);
    const auto limit = static_cast<std::int64_t>(share & ~((std::bit_floor(share) >> 4) - 1));
    if (limit > 0 && (request.most_memory == 0 || limit < request.most_memory))
      limits.push_back(limit);
  }
  return limits;
}

}  // namespace

StepPlan plan_work(const PlannedWork& work, const PlanRequest& request) {
  StepPlan plan;
  plan.devices = request.devices;
  plan.images = request.images;
  plan.has_one_result = work.has_one_result();
  take_costs(work, request, plan);
  add_candidates(request, plan);
  try_candidates(work, request, plan);
  choose(plan);
  keep_costs(work, request, plan);
  plan.rules = rules_of(work.network(), plan.graph, plan.best().sides, plan.devices);
  return plan;
}

StepPlan plan_steadily(const WorkMaker& make_work, const PlanRequest& request) {
  const std::array<std::string, 2> cpu_alone = {"cpu", "cpu"};
  std::unique_ptr<PlannedWork> work = make_work(request);
  std::string failure;
  for (const std::int64_t limit : limits_of(request, work->free_bytes())) {
    PlanRequest within = request;
    within.most_memory = limit;
    try {
      if (work == nullptr) work = make_work(within);
      StepPlan plan = plan_work(*work, within);
      if (!failure.empty())
        plan.why +=
            fmt::format("; within {} KiB of memory, because of more: {}", limit >> 10, failure);
      return plan;
    } catch (const Error& error) {
      if (!is_of_device(error) || request.devices == cpu_alone) throw;
      failure = error.what();
      if (error.kind() != ErrorKind::memory) break;
    }
    work.reset();  // with what it holds on the device
  }
  warn(fmt::format("all stays on the CPU, for a device failed while steps were planned: {}",
                   failure));
  const PlanRequest alone{.devices = cpu_alone, .images = request.images, .uses_cache = false};
  work = make_work(alone);
  StepPlan plan = plan_work(*work, alone);
  plan.why = fmt::format("{} or {} failed while steps were planned", request.devices[0],
                         request.devices[1]);
  return plan;
}

std::string rules_of(const Network& network, const StepGraph& graph, const Sides& sides,
                     const std::array<std::string, 2>& devices) {
  std::array<std::size_t, 2> passes_ahead{};  // evaluation runs where most of them do
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (graph.units[i].unit.pass == TrainPass::forward && !graph.units[i].is_fixed)
      ++passes_ahead[sides[i]];
  }
  const std::uint8_t usual = passes_ahead[1] > passes_ahead[0] ? 1 : 0;
  const bool has_fixed = std::ranges::any_of(graph.units, &PlacedUnit::is_fixed);
  std::vector<PlaceRule> rules = {{.nodes = "*", .pass = {}, .device = devices[usual]}};
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const LayerSides own = sides_of_layer(graph, sides, i);
    std::vector<TrainPass> passes;  // that a rule can place
    for (const TrainPass pass : kTrainPasses) {
      const PlacedUnit* unit = graph.find({i, pass});
      if (unit == nullptr ? !has_fixed : !unit->is_fixed) passes.push_back(pass);
    }
    const auto is_elsewhere = [&](TrainPass pass) {
      return own[static_cast<std::size_t>(pass)] != usual;
    };
    const std::string& other = devices[1 - usual];
    if (!passes.empty() && std::ranges::all_of(passes, is_elsewhere)) {
      rules.push_back({.nodes = network.nodes[i].name, .pass = {}, .device = other});
      continue;
    }
    for (const TrainPass pass : passes) {
      if (is_elsewhere(pass))
        rules.push_back({.nodes = network.nodes[i].name, .pass = pass, .device = other});
    }
  }
  return to_string(rules);
}

}  // namespace nibble::inline placement
