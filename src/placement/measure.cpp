// SPDX-License-Identifier: Apache-2.0
// Costs by looking at the clock.
#include "placement/measure.h"

#include <algorithm>

#include "backend/lost_device.h"
#include "placement/clocked_steps.h"
#include "placement/cut.h"
#include "placement/fit.h"
#include "placement/measure_copies.h"
#include "placement/measure_crowding.h"
#include "placement/parts.h"

namespace nibble::inline placement {
namespace {

constexpr std::int64_t kBytesAnImage = 64;  // of what links are measured by

Nanoseconds copy_time(IntegerBackend& from, IntegerBackend& to, std::int64_t images) {
  const Picture picture{1, 1, kBytesAnImage};
  const Values source = values_on(from, picture, images);
  const Values target = values_on(to, picture, images);
  const std::vector<std::int8_t> mantissas(static_cast<std::size_t>(images * kBytesAnImage), 3);
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

// The wire that a device has, and has again when this ends, be it by an error.
class UsualWire {
 public:
  explicit UsualWire(IntegerBackend& device) : device_(device), kind_(device.wire()) {}
  ~UsualWire() {
    try {
      device_.use_wire(kind_);
    } catch (const Error&) {  // a lost device has none
    }
  }
  UsualWire(const UsualWire&) = delete;
  UsualWire& operator=(const UsualWire&) = delete;
  WireKind kind() const { return kind_; }

 private:
  IntegerBackend& device_;
  WireKind kind_;
};

void measure_wires(const Backends& backends, std::int64_t most_bytes, StepCosts& costs) {
  IntegerBackend& device = backends[1]->runs_ahead() ? *backends[1] : *backends[0];
  const UsualWire usual(device);
  costs.wire = usual.kind();
  for (const WireKind kind : {WireKind::pinned, WireKind::pageable, WireKind::mapped}) {
    if (!device.use_wire(kind)) continue;
    costs.wires.push_back({kind,
                           {measure_link(*backends[0], *backends[1], most_bytes),
                            measure_link(*backends[1], *backends[0], most_bytes)}});
    if (kind == costs.wire) costs.links = costs.wires.back().links;
  }
}

class StepMeasurer {
 public:
  StepMeasurer(const Network& network, const IntegerOptions& options, std::int64_t images,
               const Backends& backends)
      : network_(network), options_(options), images_(images), backends_(backends) {}

  // Steps on each device in turns, so that both see the same slow and quick phases of the machine.
  MeasuredStep measure_in_turns() {
    std::vector<std::unique_ptr<ClockedSteps>> pure;
    for (std::size_t side = 0; side < sides(); ++side) pure.push_back(steps_on(side));
    begin(*pure[0]);
    in_turns([&] {
      for (const auto& each : pure) each->take_turn();
    });
    for (std::size_t side = 0; side < 2; ++side) {
      const ClockedSteps& steps = *pure[std::min(side, sides() - 1)];
      take_idle(side, steps.clock());
      for (std::size_t i = 0; i < measured_.graph.units.size(); ++i) take_unit(i, side, steps);
      fit_to_step(measured_.graph, static_cast<std::uint8_t>(side), steps.median(), costs());
    }
    if (sides() == 1) return std::move(measured_);
    measure_wires(backends_, kMostBytes, costs());
    measure_crowd(*pure[0], *pure[1]);
    const Nanoseconds usual = pure[0]->median() + pure[1]->median();
    measure_copies(
        {network_, options_, images_, backends_, 0, {all_on(measured_.graph, 1)}}, measured_,
        [&](Nanoseconds time) { return time * usual / (pure[0]->again() + pure[1]->again()); });
    return std::move(measured_);
  }

  // The first device, then parts of a step on the second, one after the other. Their units count
  // as long as they take one by one, for no whole step says how they overlap; nor does one say how
  // the devices slow each other down, for the first one has a share in every part.
  MeasuredStep measure_in_parts(std::int64_t most_memory) {
    const std::unique_ptr<ClockedSteps> host = steps_on(0);
    begin(*host);
    in_turns([&] { host->take_turn(); });
    take_idle(0, host->clock());
    for (std::size_t i = 0; i < measured_.graph.units.size(); ++i) {
      take_unit(i, 0, *host);
      costs().units[i][1] = costs().units[i][0];  // the best guess for what fits into no part
    }
    fit_to_step(measured_.graph, 0, host->median(), costs());
    const std::vector<Sides> parts = parts_within(measured_.graph, most_memory);
    const std::int64_t room = most_memory == 0
                                  ? memory_of_second(measured_.graph, all_on(measured_.graph, 1))
                                  : most_memory;
    measure_wires(backends_, std::min(kMostBytes, room / 2), costs());
    for (const Sides& part : parts) measure_part(part);
    measure_copies({network_, options_, images_, backends_, most_memory, parts}, measured_,
                   [&](Nanoseconds time) { return time * host->median() / host->again(); });
    return std::move(measured_);
  }

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;

  std::size_t sides() const { return backends_[0] == backends_[1] ? 1 : 2; }
  StepCosts& costs() { return measured_.costs; }

  std::unique_ptr<ClockedSteps> steps_on(std::size_t side) const {
    return std::make_unique<ClockedSteps>(network_, options_, images_, Placement(backends_[side]),
                                          UnitClock::All{backends_[side]});
  }
  void begin(ClockedSteps& steps) {
    measured_ = {};
    measured_.graph = step_graph(network_, steps.tape(), images_);
    costs().units.resize(measured_.graph.units.size());
    costs().asks.resize(measured_.graph.units.size());
  }
  void take_idle(std::size_t side, const UnitClock& clock) {
    costs().runs_ahead[side] = backends_[side]->runs_ahead();
    measured_.idle[side] = clock.idle(*backends_[side]);
    costs().wakes[side] = measured_.idle[side] / 2;
  }
  void take_unit(std::size_t unit, std::size_t side, const ClockedSteps& steps) {
    const StepUnit& own = measured_.graph.units[unit].unit;
    costs().units[unit][side] = steps.clock().of(own);
    costs().asks[unit][side] = steps.clock().ask_of(own);
  }
  void measure_crowd(ClockedSteps& first, ClockedSteps& second) {
    if (backends_[0]->shares_host() || backends_[1]->shares_host())
      costs().crowded = measure_crowding(first.trial(), second.trial());
  }
  void measure_part(const Sides& part) {
    constexpr int kTurnsOfAPart = 3;
    ClockedSteps there(network_, options_, images_,
                       placement_of_sides(network_, measured_.graph, part, backends_),
                       {backends_[0], backends_[1]});
    for (int turn = 0; turn < kTurnsOfAPart; ++turn) there.take_turn();
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == 1) take_unit(i, 1, there);
    }
    take_idle(1, there.clock());
  }

  const Network& network_;
  const IntegerOptions& options_;
  std::int64_t images_;
  const Backends& backends_;
  MeasuredStep measured_;
};

}  // namespace

LinkCost measure_link(IntegerBackend& from, IntegerBackend& to, std::int64_t most_bytes) {
  constexpr std::int64_t kFew = 64;  // images
  const std::int64_t many = std::max(most_bytes / kBytesAnImage, 4 * kFew);
  const StepContext step{.all_images = many};
  from.begin(step);
  to.begin(step);
  const Nanoseconds short_time = copy_time(from, to, kFew);
  const Nanoseconds long_time = copy_time(from, to, many);
  const std::int64_t bytes = (many - kFew) * kBytesAnImage;
  LinkCost link;
  link.picoseconds_a_byte = std::max<std::int64_t>((long_time - short_time) * 1000 / bytes, 0);
  link.latency =
      std::max<Nanoseconds>(short_time - kFew * kBytesAnImage * link.picoseconds_a_byte / 1000, 0);
  return link;
}

MeasuredStep measure_step(const Network& network, const IntegerOptions& options,
                          std::int64_t images, const Backends& backends, std::int64_t most_memory) {
  StepMeasurer measurer(network, options, images, backends);
  if (backends[0] == backends[1]) return measurer.measure_in_turns();
  const IntegerTape tape(network, options.roundings, Placement(backends[0]), options.frozen);
  const StepGraph graph = step_graph(network, tape, images);
  if (most_memory == 0 || 2 * memory_of_second(graph, all_on(graph, 1)) <= most_memory) {
    try {
      return measurer.measure_in_turns();
    } catch (const Error& error) {  // there may be room for one step at a time
      if (!is_of_device(error)) throw;
    }
  }
  return measurer.measure_in_parts(most_memory);
}

}  // namespace nibble::inline placement
