// SPDX-License-Identifier: Apache-2.0
// Costs by looking at the clock.
#include "placement/measure.h"

#include <algorithm>
#include <map>
#include <string>

#include "placement/fit.h"
#include "placement/measure_copies.h"
#include "placement/measure_crowding.h"

namespace nibble::inline placement {
namespace {

constexpr int kWarmSteps = 2;
constexpr int kWatchedATurn = 2;
constexpr int kStepsATurn = 3;  // that nobody watches

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

// Steps with everything on one device, some of them watched unit by unit.
class PureSteps {
 public:
  PureSteps(const Network& network, const IntegerOptions& options, std::int64_t images,
            std::shared_ptr<IntegerBackend> backend)
      : trial_(network, options, images, Placement(backend)), clock_(*backend) {
    watch([&] {
      for (int i = 0; i < kWarmSteps; ++i) trial_.step();
    });
    clock_.forget();
  }

  // First steps find caches that the other device, or watching, has used.
  void take_turn() {
    trial_.step();
    watch([&] {
      for (int i = 0; i < kWatchedATurn; ++i) {
        trial_.step();
        clock_.end_step();
      }
    });
    trial_.step();
    for (int i = 0; i < kStepsATurn; ++i) times_.push_back(trial_.step());
  }

  // What a step takes at this moment.
  Nanoseconds again() { return trial_.usual_step(); }

  StepTrial& trial() { return trial_; }
  IntegerTape& tape() { return trial_.tape(); }
  const UnitClock& clock() const { return clock_; }
  Nanoseconds median() const { return median_of(times_); }

 private:
  template <class Work>
  void watch(const Work& work) {
    trial_.tape().set_watcher(&clock_);
    work();
    trial_.tape().set_watcher(nullptr);
  }

  StepTrial trial_;
  UnitClock clock_;
  std::vector<Nanoseconds> times_;
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
  const std::size_t sides = backends[0] == backends[1] ? 1 : 2;
  std::vector<std::unique_ptr<PureSteps>> pure;
  for (std::size_t side = 0; side < sides; ++side)
    pure.push_back(std::make_unique<PureSteps>(network, options, images, backends[side]));
  measured.graph = step_graph(network, pure[0]->tape(), images);
  // In turns, so that both see the same slow and quick phases of the machine.
  in_turns([&] {
    for (const auto& each : pure) each->take_turn();
  });
  StepCosts& costs = measured.costs;
  costs.units.resize(measured.graph.units.size());
  costs.asks.resize(measured.graph.units.size());
  for (std::size_t side = 0; side < 2; ++side) {
    const PureSteps& steps = *pure[std::min(side, sides - 1)];
    costs.runs_ahead[side] = backends[side]->runs_ahead();
    measured.idle[side] = steps.clock().idle();
    costs.wakes[side] = steps.clock().idle() / 2;
    for (std::size_t i = 0; i < measured.graph.units.size(); ++i) {
      costs.units[i][side] = steps.clock().of(measured.graph.units[i].unit);
      costs.asks[i][side] = steps.clock().ask_of(measured.graph.units[i].unit);
    }
    fit_to_step(measured.graph, static_cast<std::uint8_t>(side), steps.median(), costs);
  }
  if (sides == 1) return measured;
  measure_wires(backends, costs);
  if (backends[0]->shares_host() || backends[1]->shares_host())
    costs.crowded = measure_crowding(pure[0]->trial(), pure[1]->trial());
  const Nanoseconds usual = pure[0]->median() + pure[1]->median();
  measure_copies(network, options, images, backends, measured, [&](Nanoseconds time) {
    return time * usual / (pure[0]->again() + pure[1]->again());
  });
  return measured;
}

}  // namespace nibble::inline placement
