// SPDX-License-Identifier: Apache-2.0
// Plans against real steps: placements by chance on two devices, predicted and measured, beside the
// two pure ones, the cut and the time line's best. Give it a quiet machine.
//
// usage: placement_bench [network] [images] [first device] [second device] [placements]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "backend/cuda/register.h"
#include "nibble/core/philox.h"
#include "nibble/graph/network_text.h"
#include "placement/cut.h"
#include "placement/local_search.h"
#include "placement/measure.h"

namespace {

using namespace nibble;

Nanoseconds real_step(const Network& network, const MeasuredStep& measured, const Sides& sides,
                      std::int64_t images, const Backends& backends) {
  StepTrial trial(network, {}, images,
                  placement_of_sides(network, measured.graph, sides, backends));
  for (int i = 0; i < 3; ++i) trial.step();
  std::vector<Nanoseconds> times;
  for (int i = 0; i < 11; ++i) times.push_back(trial.step());
  return median_of(times);
}

Sides sides_by_chance(const StepGraph& graph, std::uint32_t number) {
  Sides sides;
  for (const std::size_t group : graph.group)
    sides.push_back(static_cast<std::uint8_t>(draw32({24, number, 0}, group) & 1U));
  return sides;
}

void run(const Network& network, std::int64_t images, const Backends& backends, int placements) {
  const MeasuredStep measured = measure_step(network, {}, images, backends);
  const std::size_t units = measured.graph.units.size();
  std::vector<Nanoseconds> errors;  // in thousandths
  Nanoseconds best_by_chance = 0;
  const auto show = [&](const std::string& name, const Sides& sides) {
    const Nanoseconds predicted = time_line(measured.graph, measured.costs, sides).length;
    const Nanoseconds real = real_step(network, measured, sides, images, backends);
    errors.push_back(std::abs(predicted - real) * 1000 / real);
    fmt::print("{:<16} predicted {:>9.3f} ms  measured {:>9.3f} ms  {:>+6.1f} %\n", name,
               static_cast<double>(predicted) / 1e6, static_cast<double>(real) / 1e6,
               100.0 * static_cast<double>(predicted - real) / static_cast<double>(real));
    return real;
  };
  show("all on first", Sides(units, 0));
  show("all on second", Sides(units, 1));
  const Sides cut = cheapest_cut(measured.graph, measured.costs);
  show("minimum cut", cut);
  show("time line",
       improved(measured.graph, measured.costs, cut, [](const Sides&) { return true; }));
  for (int i = 0; i < placements; ++i) {
    const Nanoseconds real = show(fmt::format("by chance {}", i),
                                  sides_by_chance(measured.graph, static_cast<std::uint32_t>(i)));
    best_by_chance = i == 0 ? real : std::min(best_by_chance, real);
  }
  fmt::print(
      "best by chance {:.3f} ms; prediction off by {:.1f} % in the median, {:.1f} % at most\n",
      static_cast<double>(best_by_chance) / 1e6, static_cast<double>(median_of(errors)) / 10,
      static_cast<double>(*std::ranges::max_element(errors)) / 10);
}

}  // namespace

int main(int count, char** words) {
  const auto word = [&](int i, const char* usual) { return i < count ? words[i] : usual; };
  try {
    register_cuda_backend();
    run(load_network(word(1, "lenet")), std::atoll(word(2, "64")),
        {make_backend(word(3, "cpu")), make_backend(word(4, "pretend"))}, std::atoi(word(5, "20")));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
