// SPDX-License-Identifier: Apache-2.0
// integer_bench layers: every product of a step beside what the registers of the machine could do.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "bench/integer_bench.h"
#include "bench/layer_passes.h"
#include "bench/network_to_measure.h"
#include "bench/stopwatch.h"
#include "kernels/integer_paths.h"
#include "kernels/products/peak.h"
#include "nibble/core/parallel.h"

namespace nibble {
namespace {

constexpr std::array kPasses = {LayerPass::forward, LayerPass::input_error,
                                LayerPass::weight_gradient};

// What all threads reach at once in registers alone: the best of many short slices, before and in
// between what is measured. 0 where nothing can say.
class Peak {
 public:
  Peak() : isa_(best_path(kProductKernelPaths, active_isa()).isa) {
    constexpr int kFirstSlices = 200;
    for (int i = 0; i < kFirstSlices; ++i) run_slice();
  }

  void run_slice() { most_ = std::max(most_, peak_of_threads(isa_)); }

  double speed() const { return most_; }

 private:
  Isa isa_;
  double most_ = 0;
};

// What several passes took together, in a middle and in a good moment of the machine.
struct Times {
  double operations = 0;
  double done = 0;  // those not over a border
  double middle = 0;
  double least = 0;

  void add(const Times& other) {
    operations += other.operations;
    done += other.done;
    middle += other.middle;
    least += other.least;
  }
};

bool is_run(const WeightedLayer& layer, LayerPass pass) {
  return pass != LayerPass::input_error || layer.passes_error;
}

// Seconds of every run of a layer's passes.
class Measurement {
 public:
  // A visit of many: neighbours on the machine come and go, so passes and layers take turns.
  void visit(const WeightedLayer& layer, std::int64_t batch, Peak& peak) {
    constexpr int kLeastRounds = 5;
    constexpr int kMostRounds = 200;
    constexpr double kSeconds = 0.1;
    LayerProblem problem(layer, batch);
    for (const LayerPass pass : kPasses) problem.run(pass);
    double spent = 0;
    for (int round = 0; round < kLeastRounds || (spent < kSeconds && round < kMostRounds);
         ++round) {
      peak.run_slice();
      for (const LayerPass pass : kPasses) {
        if (!is_run(layer, pass)) continue;
        std::vector<double>& times = times_[static_cast<std::size_t>(pass)];
        times.push_back(seconds_of([&] { problem.run(pass); }));
        spent += times.back();
      }
    }
    share_inside_ = problem.share_inside();
    operations_ = 2.0 * static_cast<double>(layer.products * batch);
  }

  Times of(LayerPass pass) const {
    const std::vector<double>& times = times_[static_cast<std::size_t>(pass)];
    return {operations_, operations_ * share_inside_, median(times), std::ranges::min(times)};
  }

 private:
  std::array<std::vector<double>, kPasses.size()> times_;
  double operations_ = 0;
  double share_inside_ = 0;
};

// Whether the path that was measured gives what the definition gives, on one part of a group.
bool is_right(const WeightedLayer& layer) {
  constexpr std::int64_t kImages = 5;
  const WeightedLayer small = reduced(layer);
  LayerProblem fast(small, kImages);
  for (const LayerPass pass : kPasses) fast.run(pass);
  set_isa(Isa::reference);
  LayerProblem slow(small, kImages);
  for (const LayerPass pass : kPasses) slow.run(pass);
  reset_isa();
  return std::ranges::all_of(
      kPasses, [&](LayerPass pass) { return fast.result(pass) == slow.result(pass); });
}

void print_speed(const Times& times, double peak) {
  fmt::print("{:>10.3f} {:>9.1f}", 1e3 * times.middle, 1e-9 * times.operations / times.middle);
  if (peak <= 0) return;
  fmt::print(" {:>6.1f} % {:>6.1f} %", 100 * times.operations / times.middle / peak,
             100 * times.operations / times.least / peak);
}

void print_total(std::string_view what, const Times& times, double peak) {
  if (times.operations <= 0) return;
  fmt::print("{}: ", what);
  if (peak > 0) {
    fmt::print("{:.1f} % of peak (at best {:.1f} %), ",
               100 * times.operations / times.middle / peak,
               100 * times.operations / times.least / peak);
  }
  fmt::print("{:.1f} GOP/s, {:.2f} ms (at best {:.2f})", 1e-9 * times.operations / times.middle,
             1e3 * times.middle, 1e3 * times.least);
  if (peak > 0 && times.done < times.operations) {
    fmt::print(
        "; without the {:.1f} % over a border, which are not done: {:.1f} % (at best {:.1f} %)",
        100 * (1 - times.done / times.operations), 100 * times.done / times.middle / peak,
        100 * times.done / times.least / peak);
  }
  fmt::print("\n");
}

}  // namespace

bool measure_layers(const IntegerBenchOptions& options) {
  const Network network = network_to_measure(options.network, true);
  fmt::print("{}, batch {}: products of one step\n", network.name, options.batch);
  fmt::print("{:<10} {:<16} {:>9} {:>9} {:>8} {:>8}\n", "layer", "pass", "ms", "GOP/s", "of peak",
             "at best");
  bool right = true;
  Peak peak;
  Times convolutions;
  Times all;
  constexpr int kVisits = 5;
  const std::vector<WeightedLayer> layers = weighted_layers(network);
  std::vector<Measurement> measurements(layers.size());
  for (int visit = 0; visit < kVisits; ++visit) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      measurements[i].visit(layers[i], options.batch, peak);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const WeightedLayer& layer = layers[i];
    const bool layer_right = is_right(layer);
    right = right && layer_right;
    for (const LayerPass pass : kPasses) {
      if (!is_run(layer, pass)) continue;
      const Times times = measurements[i].of(pass);
      fmt::print("{:<10} {:<15}", layer.name, name_of(pass));
      print_speed(times, peak.speed());
      fmt::print("{}\n", layer_right ? "" : "  WRONG");
      all.add(times);
      if (layer.is_convolution) convolutions.add(times);
    }
  }
  if (peak.speed() > 0) fmt::print("peak in registers: {:.1f} GOP/s\n", 1e-9 * peak.speed());
  print_total("three convolution passes", convolutions, peak.speed());
  print_total("all weighted layers", all, peak.speed());
  fmt::print("{}\n", right ? "all three passes of every layer equal the reference path's"
                           : "a pass differs from the reference path's");
  return right;
}

}  // namespace nibble
