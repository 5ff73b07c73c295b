// SPDX-License-Identifier: Apache-2.0
// Costs by looking at the clock.
#include "placement/measure.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "placement/time_line.h"

namespace nibble::inline placement {
namespace {

constexpr int kWarmSteps = 2;
constexpr int kLeastSteps = 5;
constexpr int kMostSteps = 25;
constexpr Nanoseconds kEnough = 600'000'000;  // of steps on one device, watched and not

Values values_on(IntegerBackend& backend, const Picture& picture, std::int64_t images) {
  return {.picture = picture,
          .images = images,
          .memory = backend.take(picture, images),
          .exponent = backend.new_slot()};
}

// What waiting for next to nothing takes: the least that a device does, and the way there and back.
Nanoseconds round_trip(IntegerBackend& backend) {
  const Values numbers = values_on(backend, {1, 1, 16}, 1);
  backend.begin({.all_images = 1});
  backend.load(std::vector<std::int8_t>(16, 1), 0, numbers);
  std::vector<Nanoseconds> times;
  for (int i = 0; i < 31; ++i) {
    backend.read_slots();
    const Nanoseconds begin = now();
    backend.pointwise(Rectify{}, {&numbers, 1}, numbers);
    backend.start();
    backend.read_slots();
    times.push_back(now() - begin);
  }
  return median_of(times);
}

// Waits for the backend before and after a unit, so that the clock sees this unit alone.
class UnitClock final : public StepWatcher {
 public:
  explicit UnitClock(IntegerBackend& backend)
      : idle_(backend.runs_ahead() ? round_trip(backend) : 0) {}

  void begin(StepUnit, IntegerBackend& backend) override {
    backend.read_slots();
    begin_ = now();
  }
  void end(StepUnit unit, IntegerBackend& backend) override {
    backend.start();
    const Nanoseconds asked = now();
    if (backend.runs_ahead()) backend.read_slots();
    Spent& spent = step_[unit];
    spent.all += std::max<Nanoseconds>(now() - begin_ - idle_, 0);
    spent.ask += asked - begin_;
  }
  void end_step() {
    for (const auto& [unit, spent] : step_) {
      times_[unit].push_back(spent.all);
      asks_[unit].push_back(spent.ask);
    }
    step_.clear();
  }
  void forget() { step_.clear(); }
  Nanoseconds of(StepUnit unit) const { return median_in(times_, unit); }
  Nanoseconds ask_of(StepUnit unit) const { return median_in(asks_, unit); }
  Nanoseconds idle() const { return idle_; }

 private:
  using Times = std::map<StepUnit, std::vector<Nanoseconds>>;
  struct Spent {
    Nanoseconds all = 0;
    Nanoseconds ask = 0;
  };

  static Nanoseconds median_in(const Times& times, StepUnit unit) {
    const auto found = times.find(unit);
    return found == times.end() ? 0 : median_of(found->second);
  }

  Nanoseconds idle_;
  Nanoseconds begin_ = 0;
  std::map<StepUnit, Spent> step_;
  Times times_;
  Times asks_;
};

Nanoseconds copy_time(IntegerBackend& from, IntegerBackend& to, std::int64_t images) {
  const Picture picture{1, 1, 64};
  const Values source = values_on(from, picture, images);
  const Values target = values_on(to, picture, images);
  const std::vector<std::int8_t> mantissas(static_cast<std::size_t>(images * 64), 3);
  from.load(mantissas, 0, source);
  Wire wire;
  std::vector<Nanoseconds> times;
  for (int i = 0; i < 15; ++i) {
    from.read_slots();
    const Nanoseconds begin = now();
    Flight flight = wire.depart("", from, source, to);
    wire.arrive(flight, to, target);
    to.start();
    to.read_slots();
    times.push_back(now() - begin);
  }
  return median_of(times);
}

// Looks at the clock around every part of a copy, with all else at rest.
class CopyClock {
 public:
  CopyClock(const Backends& backends, const std::array<Nanoseconds, 2>& idle)
      : backends_(backends), idle_(idle) {}

  void see(const Flight& flight, Wire::Moment moment) {
    const std::size_t to = flight.crossing.to == backends_[1].get() ? 1 : 0;
    CopyCost& cost = open_[{flight.crossing.tensor, flight.crossing.from}];
    const Nanoseconds reached = now();
    switch (moment) {
      case Wire::Moment::left:
        cost.leave = reached - begin_;
        flight.settle();
        cost.travel = now() - reached;
        break;
      case Wire::Moment::arrived:
        cost.ask = reached - begin_;
        if (backends_[to]->runs_ahead()) {
          rest();
          cost.arrive = std::max<Nanoseconds>(now() - begin_ - idle_[to], 0);
        }
        costs_[{flight.crossing.tensor, flight.crossing.from}].push_back(cost);
        break;
      default:
        rest();
        begin_ = now();
    }
  }

  // Of medians; nothing where the tensor has never crossed.
  CopyCost of(const std::string& tensor, std::size_t from) const {
    const auto found = costs_.find({tensor, backends_[from].get()});
    if (found == costs_.end()) return {};
    const auto median = [&](Nanoseconds CopyCost::*part) {
      std::vector<Nanoseconds> times;
      for (const CopyCost& each : found->second) times.push_back(each.*part);
      return median_of(times);
    };
    return {median(&CopyCost::leave), median(&CopyCost::travel), median(&CopyCost::ask),
            median(&CopyCost::arrive)};
  }

 private:
  using Way = std::pair<std::string, const IntegerBackend*>;

  void rest() const {
    for (const auto& each : backends_) {
      each->start();
      each->read_slots();
    }
  }

  const Backends& backends_;
  const std::array<Nanoseconds, 2>& idle_;
  Nanoseconds begin_ = 0;
  std::map<Way, CopyCost> open_;
  std::map<Way, std::vector<CopyCost>> costs_;
};

// Layouts and kinds of tensors make copies of the same size unlike, so each is measured: in steps
// of placements by chance, in which every tensor crosses now and then.
void measure_copies(const Network& network, const IntegerOptions& options, std::int64_t images,
                    const Backends& backends, MeasuredStep& measured) {
  constexpr std::uint32_t kPlacements = 8;
  constexpr int kWarm = 2;  // which take memory: devices may have it for every second step
  constexpr int kSteps = 3;
  const StepGraph& graph = measured.graph;
  CopyClock clock(backends, measured.idle);
  for (std::uint32_t number = 0; number < kPlacements; ++number) {
    StepTrial trial(network, options, images,
                    placement_of_sides(network, graph, sides_by_chance(graph, number), backends));
    for (int i = 0; i < kWarm; ++i) trial.step();
    trial.tape().placement().wire().set_observer(
        [&](const Flight& flight, Wire::Moment moment) { clock.see(flight, moment); });
    for (int i = 0; i < kSteps; ++i) trial.step();
  }
  measured.costs.copies.resize(graph.flows.size());
  for (std::size_t i = 0; i < graph.flows.size(); ++i) {
    for (std::size_t from = 0; from < 2; ++from)
      measured.costs.copies[i][from] = clock.of(graph.flows[i].tensor, from);
  }
}

// Units measured one by one need not add up to a step: launches that follow one another overlap,
// caches are warmer. So they are stretched, or shrunk, to what a step on their device takes.
void fit_to_step(MeasuredStep& measured, std::uint8_t side, Nanoseconds step) {
  StepCosts& costs = measured.costs;
  const Sides all(measured.graph.units.size(), side);
  for (int round = 0; round < 4; ++round) {  // what the host asks is not in proportion
    const Nanoseconds predicted = time_line(measured.graph, costs, all).length;
    if (predicted <= 0) return;
    for (auto& each : costs.units) each[side] = each[side] * step / predicted;
    for (auto& each : costs.asks) each[side] = std::min(each[side], each[side] * step / predicted);
  }
}

// The median of steps while the other one makes steps, too, on a thread of its own.
Nanoseconds step_beside(StepTrial& trial, StepTrial& other) {
  constexpr int kSteps = 3;
  std::atomic<bool> is_over = false;
  std::jthread beside([&] {
    while (!is_over) other.step();
  });
  std::vector<Nanoseconds> times;
  for (int i = 0; i < kSteps; ++i) times.push_back(trial.step());
  is_over = true;
  return median_of(times);
}

// Alone and beside each other in turns, for machines have slow and quick phases.
std::int64_t measure_crowding(const Network& network, const IntegerOptions& options,
                              std::int64_t images, const Backends& backends) {
  constexpr int kTurns = 7;
  StepTrial first(network, options, images, Placement(backends[0]));
  StepTrial second(network, options, images, Placement(backends[1]));
  std::vector<std::int64_t> thousandths;
  for (int turn = 0; turn <= kTurns; ++turn) {
    const Nanoseconds alone = first.step() + second.step();
    const Nanoseconds crowded = step_beside(first, second) + step_beside(second, first);
    if (turn > 0) thousandths.push_back(1000 * crowded / alone);
  }
  return std::max<std::int64_t>(median_of(thousandths), 1000);
}

void measure_wires(const Backends& backends, StepCosts& costs) {
  IntegerBackend& device = backends[1]->runs_ahead() ? *backends[1] : *backends[0];
  costs.wire = device.wire();
  for (const WireKind kind : {WireKind::pinned, WireKind::pageable, WireKind::mapped}) {
    if (!device.use_wire(kind)) continue;
    costs.wires.push_back(
        {kind,
         {measure_link(*backends[0], *backends[1]), measure_link(*backends[1], *backends[0])}});
    if (kind == costs.wire) costs.links = costs.wires.back().links;
  }
  device.use_wire(costs.wire);
}

}  // namespace

LinkCost measure_link(IntegerBackend& from, IntegerBackend& to) {
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kMany = 16384;  // images of 64 bytes
  const StepContext step{.all_images = kMany};
  from.begin(step);
  to.begin(step);
  const Nanoseconds few = copy_time(from, to, kFew);
  const Nanoseconds many = copy_time(from, to, kMany);
  LinkCost link;
  link.picoseconds_a_byte = std::max<std::int64_t>((many - few) * 1000 / ((kMany - kFew) * 64), 0);
  link.latency = std::max<Nanoseconds>(few - kFew * 64 * link.picoseconds_a_byte / 1000, 0);
  return link;
}

MeasuredStep measure_step(const Network& network, const IntegerOptions& options,
                          std::int64_t images, const Backends& backends) {
  MeasuredStep measured;
  for (std::size_t side = 0; side < 2; ++side) {
    if (side == 1 && backends[1] == backends[0]) {
      for (auto& each : measured.costs.units) each[1] = each[0];
      break;
    }
    IntegerBackend& backend = *backends[side];
    measured.costs.runs_ahead[side] = backend.runs_ahead();
    StepTrial trial(network, options, images, Placement(backends[side]));
    if (side == 0) {
      measured.graph = step_graph(network, trial.tape(), images);
      measured.costs.units.resize(measured.graph.units.size());
      measured.costs.asks.resize(measured.graph.units.size());
    }
    UnitClock clock(backend);
    measured.idle[side] = clock.idle();
    measured.costs.wakes[side] = clock.idle() / 2;
    trial.tape().set_watcher(&clock);
    for (int i = 0; i < kWarmSteps; ++i) trial.step();
    clock.forget();
    Nanoseconds spent = 0;
    for (int i = 0; i < kMostSteps && (i < kLeastSteps || spent < kEnough); ++i) {
      spent += trial.step();
      clock.end_step();
    }
    trial.tape().set_watcher(nullptr);
    std::vector<Nanoseconds> steps;
    for (int i = 0; i < kMostSteps && (i < kLeastSteps || spent < 2 * kEnough); ++i) {
      steps.push_back(trial.step());
      spent += steps.back();
    }
    for (std::size_t i = 0; i < measured.graph.units.size(); ++i) {
      measured.costs.units[i][side] = clock.of(measured.graph.units[i].unit);
      measured.costs.asks[i][side] = clock.ask_of(measured.graph.units[i].unit);
    }
    fit_to_step(measured, static_cast<std::uint8_t>(side), median_of(steps));
  }
  if (backends[0] != backends[1]) {
    measure_wires(backends, measured.costs);
    if (backends[0]->shares_host() || backends[1]->shares_host())
      measured.costs.crowded = measure_crowding(network, options, images, backends);
    measure_copies(network, options, images, backends, measured);
  }
  return measured;
}

}  // namespace nibble::inline placement
