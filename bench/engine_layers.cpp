// SPDX-License-Identifier: Apache-2.0
// Layers by themselves, 1 thread, batch 1, the least of many runs: depthwise and grouped
// convolutions with multipliers of 8 and of 30 bits, and what no product takes along.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/stopwatch.h"
#include "graph/test_network_maker.h"
#include "nibble/engine/engine.h"

namespace nibble {
namespace {

constexpr double kSeconds = 0.3;  // of runs of one network

struct Layer {
  std::int64_t side, channels, kernel, stride, groups;

  std::string name() const {
    return fmt::format("{0}x{0}x{1}, {2}x{2}{3}{4}", side, channels, kernel,
                       stride > 1 ? fmt::format("/{}", stride) : "",
                       groups < channels ? fmt::format(", {} groups", groups) : "");
  }
  std::int64_t outputs() const { return (side + stride - 1) / stride; }
};

constexpr Layer kLayers[] = {
    {112, 32, 3, 1, 32},  {112, 96, 3, 2, 96},  {56, 144, 3, 1, 144}, {56, 144, 3, 2, 144},
    {28, 192, 3, 1, 192}, {14, 384, 3, 1, 384}, {14, 480, 5, 1, 480}, {14, 576, 3, 2, 576},
    {7, 960, 3, 1, 960},  {56, 128, 3, 1, 32},  {28, 256, 3, 1, 32},  {14, 512, 3, 1, 32},
};

Model network_of(const Layer& layer, bool has_wide_multipliers) {
  Dice dice(1);
  const std::int64_t depth = layer.channels / layer.groups;
  NetworkMaker maker({layer.side, layer.side, layer.channels}, integers_format("int8"));
  maker.add(Conv2d{.channels = layer.channels,
                   .kernel = {layer.kernel, layer.kernel},
                   .stride = {layer.stride, layer.stride},
                   .padding = {layer.kernel / 2, layer.kernel / 2},
                   .groups = layer.groups});
  const Shape weight{layer.channels, layer.kernel, layer.kernel, depth};
  maker.with(tensor_of<std::int8_t>(weight, dice.many(weight.elements(), -127, 127)));
  if (has_wide_multipliers) {
    maker.rescale(maker.last(), dice.many(layer.channels, 1 << 29, 1 << 30), 38, 0, 127);
  } else {
    maker.rescale(maker.last(), dice.many(layer.channels, 100, 200), 15, 0, 127);
  }
  return maker.model();
}

// Of every step, in seconds.
std::vector<double> least_of(const Engine& engine) {
  std::vector<std::byte> input(engine.input().bytes), output(engine.output().bytes);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i * 37 % 251);
  std::vector<double> steps(engine.steps().size());
  std::vector<double> least(steps.size(), std::numeric_limits<double>::max());
  for (double spent = 0; spent < kSeconds;) {
    std::ranges::fill(steps, 0);
    spent += seconds_of([&] { engine.run_timed(input, 1, output, steps); });
    for (std::size_t i = 0; i < steps.size(); ++i) least[i] = std::min(least[i], steps[i]);
  }
  return least;
}

// Microseconds of the last step.
double least_of(const Model& model) {
  return least_of(Engine(copy_of(model), {.threads = 1})).back() * 1e6;
}

void run_convolutions() {
  fmt::print("{:<28} {:>8} {:>8} {:>14} {:>6}\n", "layer", "µs", "30 bits", "ns an output", "GB/s");
  for (const Layer& layer : kLayers) {
    const double narrow = least_of(network_of(layer, false));
    const double wide = least_of(network_of(layer, true));
    const auto inputs = static_cast<double>(layer.side * layer.side * layer.channels);
    const auto outputs = static_cast<double>(layer.outputs() * layer.outputs() * layer.channels);
    fmt::print("{:<28} {:>7.0f} {:>8.0f} {:>14.2f} {:>6.1f}\n", layer.name(), narrow, wide,
               narrow * 1e3 / outputs, (inputs + outputs) / narrow * 1e-3);
  }
}

// Operations on values of 56×56×256 bytes, one after the other.
void run_operations() {
  constexpr std::int64_t kSide = 56, kChannels = 256;
  Dice dice(1);
  NetworkMaker maker({kSide, kSide, kChannels}, integers_format("int8"));
  const std::size_t rescaled = maker.rescale(0, {100}, 7, -127, 127);
  const std::size_t looked_up = maker.add(Table{.first = -128}, {0});
  maker.with(tensor_of<std::int8_t>({kTableEntries}, dice.many(kTableEntries, -127, 127)));
  maker.add(Add{}, {rescaled, looked_up});
  const std::size_t sum =
      maker.rescale(maker.last(), dice.many(kChannels, 100, 4000), 12, -127, 127);
  maker.add(Concat{}, {sum, looked_up});
  maker.add(Slice{.begin = {0, 0, 0}, .end = {0, 0, kChannels}, .step = {1, 1, 1}});
  maker.add(Pad{.before = {1, 1, 0}, .after = {1, 1, 0}});
  maker.add(MaxPool{.kernel = {3, 3}, .stride = {1, 1}});
  maker.add(Relu{});
  maker.add(SumPool{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .mean_bits = 15});
  maker.rescale(maker.last(), {1}, 15, -127, 127);
  maker.add(Bias{});
  maker.with(tensor_of<std::int32_t>({kChannels}, dice.many(kChannels, -50, 50)));
  maker.add(Flatten{});
  const Engine engine(maker.model(), {.threads = 1});
  const std::vector<double> least = least_of(engine);
  fmt::print("\n{:<28} {:>8} {:>14}\n", "56x56x256", "µs", "ns a number");
  for (std::size_t i = 0; i < least.size(); ++i) {
    fmt::print("{:<28} {:>7.0f} {:>14.2f}\n", engine.steps()[i].kind, least[i] * 1e6,
               least[i] * 1e9 / static_cast<double>(kSide * kSide * kChannels));
  }
}

}  // namespace
}  // namespace nibble

int main() try {
  nibble::run_convolutions();
  nibble::run_operations();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
