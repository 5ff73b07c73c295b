// SPDX-License-Identifier: Apache-2.0
// Units by the clock.
#include "placement/clocked_steps.h"

#include <algorithm>
#include <utility>

namespace nibble::inline placement {
namespace {

constexpr int kWarmSteps = 2;
constexpr int kWatchedATurn = 2;
constexpr int kStepsATurn = 3;  // that nobody watches
// Of a unit's time, its way there and back may be all but this: it was measured in other moments.
constexpr int kLeastShare = 16;

// The least that a device does, and the way there and back.
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

}  // namespace

Values values_on(IntegerBackend& backend, const Picture& picture, std::int64_t images) {
  return {.picture = picture,
          .images = images,
          .memory = backend.take(picture, images),
          .exponent = backend.new_slot()};
}

UnitClock::UnitClock(All all) : all_(std::move(all)) {
  for (const auto& each : all_) idle_.push_back(each->runs_ahead() ? round_trip(*each) : 0);
}

void UnitClock::begin(StepUnit, IntegerBackend&) {
  for (const auto& each : all_) each->read_slots();
  begin_ = now();
}

void UnitClock::end(StepUnit unit, IntegerBackend& backend) {
  backend.start();
  const Nanoseconds asked = now();
  if (backend.runs_ahead()) backend.read_slots();
  Spent& spent = step_[unit];
  const Nanoseconds taken = now() - begin_;
  spent.all += std::max(taken - idle(backend), taken / kLeastShare);
  spent.ask += asked - begin_;
}

void UnitClock::end_step() {
  for (const auto& [unit, spent] : step_) {
    times_[unit].push_back(spent.all);
    asks_[unit].push_back(spent.ask);
  }
  step_.clear();
}

Nanoseconds UnitClock::idle(const IntegerBackend& backend) const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].get() == &backend) return idle_[i];
  }
  return 0;
}

Nanoseconds UnitClock::median_in(const Times& times, StepUnit unit) {
  const auto found = times.find(unit);
  return found == times.end() ? 0 : median_of(found->second);
}

ClockedSteps::ClockedSteps(const Network& network, const IntegerOptions& options,
                           std::int64_t images, Placement placement, UnitClock::All all)
    : trial_(network, options, images, std::move(placement)), clock_(std::move(all)) {
  watch([&] {
    for (int i = 0; i < kWarmSteps; ++i) trial_.step();
  });
  clock_.forget();
}

void ClockedSteps::take_turn() {
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

template <class Work>
void ClockedSteps::watch(const Work& work) {
  trial_.tape().set_watcher(&clock_);
  work();
  trial_.tape().set_watcher(nullptr);
}

}  // namespace nibble::inline placement
