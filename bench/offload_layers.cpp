// SPDX-License-Identifier: Apache-2.0
// The convolutions of ResNet-20, batch 32, one by one from the CPU to a device and back: every pass
// gives the integers of the CPU, and this is how long bringing, computing and fetching take, beside
// what a Jetson Xavier took in fp32 where everything was copied every time.
//
// usage: offload_layers [device]
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/register.h"
#include "integer_step/wire.h"
#include "nibble/core/philox.h"
#include "placement/step_trial.h"

namespace {

using namespace nibble;

constexpr std::int64_t kImages = 32;
constexpr int kRounds = 21;

// Milliseconds of load, compute and unload; those of the Xavier for 32 images.
using Parts = std::array<double, 3>;

struct Layer {
  const char* layers;
  Picture input;
  std::int64_t channels;
  std::int64_t stride;
  // Forward, input error, weight gradient; none where the Xavier has no figures.
  std::optional<std::array<Parts, 3>> xavier = {};
};

constexpr Layer kLayers[] = {
    {"1", {32, 32, 3}, 16, 1},
    {"1", {224, 224, 3}, 16, 1, {{{{3.19, .44, 23.68}, {14.38, .40, 11.39}, {44.23, .33, 52.59}}}}},
    {"2-6", {32, 32, 16}, 16, 1, {{{{1.20, .50, 2.79}, {1.57, .81, 2.91}, {8.44, .37, 6.94}}}}},
    {"7", {32, 32, 16}, 32, 2, {{{{1.34, .48, 3.24}, {1.34, .94, 4.13}, {6.81, .41, 4.71}}}}},
    {"8-12", {16, 16, 32}, 32, 1, {{{{1.10, .50, .90}, {1.14, .46, .87}, {7.25, .24, 5.45}}}}},
    {"13", {16, 16, 32}, 64, 2, {{{{1.28, .72, 2.45}, {1.10, .74, 2.58}, {6.25, .30, 4.11}}}}},
    {"14-18", {8, 8, 64}, 64, 1, {{{{1.12, .61, .61}, {.95, .36, 1.47}, {8.23, .27, 5.02}}}}},
};

ProductCase product_of(const Layer& layer) {
  const Picture output{(layer.input.height - 1) / layer.stride + 1,
                       (layer.input.width - 1) / layer.stride + 1, layer.channels};
  return {{{3, 3}, {layer.stride, layer.stride}, {1, 1}, {1, 1}},
          {.out = layer.channels, .taps = 9, .in = layer.input.channels},
          layer.input,
          output};
}

std::vector<std::int8_t> numbers(std::int64_t count, std::uint32_t stream) {
  std::vector<std::int8_t> drawn(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = static_cast<std::int8_t>(static_cast<int>(draw32({5, stream, 0}, i) % 255) - 127);
  return drawn;
}

// One layer on one backend.
struct Place {
  Place(IntegerBackend& on, const ProductCase& product)
      : backend(on),
        op(on.product(product)),
        value_point(on.new_point({"value", ShiftRounding::nearest, 1})),
        error_point(on.new_point({"error", ShiftRounding::nearest, 2})),
        input(values(product.input)),
        output(values(product.output)),
        error(values(product.output)),
        input_error(values(product.input)) {
    const Shape shape{product.weight.out, 3, 3, product.weight.in};
    const WeightsCase weights{
        .name = "weight", .shape = shape, .products = product.output.pixels()};
    fits_32 = weights.sums_fit_32(kImages);
    weight = on.weights(weights);
    sums = on.sums(weights);
    WeightsState state{.mantissas = Tensor(DType::i8, shape), .exponent = -7};
    const auto drawn = numbers(shape.elements(), 3);
    std::copy(drawn.begin(), drawn.end(), state.mantissas.as<std::int8_t>().begin());
    weight->write(state);
  }

  Values values(const Picture& picture) const {
    return {.picture = picture,
            .images = kImages,
            .memory = backend.take(picture, kImages),
            .exponent = backend.new_slot()};
  }

  void forward() { op->forward(input, *weight, nullptr, value_point, output); }
  void pass_error() { op->input_error(error, *weight, error_point, input_error); }
  void learn() { op->weight_gradient(input, error, *sums); }

  IntegerBackend& backend;
  std::unique_ptr<ProductOp> op;
  ShiftPoint value_point;
  ShiftPoint error_point;
  Values input;
  Values output;
  Values error;
  Values input_error;
  std::unique_ptr<Weights> weight;
  std::unique_ptr<Sums> sums;
  bool fits_32 = false;
};

std::vector<std::int8_t> mantissas_of(Place& place, const Values& values) {
  std::vector<std::int8_t> all(static_cast<std::size_t>(kImages * values.picture.elements()) + 1);
  place.backend.store(values, std::span(all).first(all.size() - 1));
  all.back() = static_cast<std::int8_t>(place.backend.read_exponent(values));
  return all;
}

std::vector<std::int64_t> sums_of(Place& place, const ProductCase& product) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(product.weight.elements()) + 1);
  all.back() = place.sums->read(std::span(all).first(all.size() - 1));
  return all;
}

class Offload {
 public:
  Offload(IntegerBackend& cpu, IntegerBackend& device, const Layer& layer)
      : layer_(layer), product_(product_of(layer)), here_(cpu, product_), there_(device, product_) {
    const StepContext step{.is_training = true, .all_images = kImages};
    cpu.begin(step);
    device.begin(step);
    cpu.load(numbers(kImages * product_.input.elements(), 1), -5, here_.input);
    cpu.load(numbers(kImages * product_.output.elements(), 2), -9, here_.error);
  }

  bool run() {
    std::array<std::array<std::vector<Nanoseconds>, 3>, 3> times;
    for (int round = 0; round < kRounds; ++round) {
      time(
          times[0], [&] { bring(here_.input, there_.input); }, [&] { there_.forward(); },
          [&] { fetch(there_.output, here_.output); });
      time(
          times[1], [&] { bring(here_.error, there_.error); }, [&] { there_.pass_error(); },
          [&] { fetch(there_.input_error, here_.input_error); });
      time(
          times[2], [] {}, [&] { there_.learn(); },
          [&] { there_.sums->leave(sums_of_weight(), there_.fits_32)->bytes(); });
    }
    show(times);
    return is_right();
  }

 private:
  template <class Load, class Compute, class Unload>
  void time(std::array<std::vector<Nanoseconds>, 3>& times, const Load& load,
            const Compute& compute, const Unload& unload) {
    const auto timed = [&](const auto& work, std::vector<Nanoseconds>& into) {
      there_.backend.read_slots();
      const Nanoseconds begin = now();
      work();
      there_.backend.read_slots();
      into.push_back(now() - begin);
    };
    timed(load, times[0]);
    timed(compute, times[1]);
    timed(unload, times[2]);
  }

  std::size_t sums_of_weight() const {
    return static_cast<std::size_t>(product_.weight.elements());
  }

  void bring(const Values& from, const Values& to) {
    Flight flight = wire_.depart("", here_.backend, from, there_.backend);
    wire_.arrive(flight, there_.backend, to);
  }
  void fetch(const Values& from, const Values& to) {
    Flight flight = wire_.depart("", there_.backend, from, here_.backend);
    wire_.arrive(flight, here_.backend, to);
  }

  bool is_right() {
    const auto output = mantissas_of(here_, here_.output);  // what came back
    const auto input_error = mantissas_of(here_, here_.input_error);
    here_.forward();
    here_.pass_error();
    here_.learn();
    const bool is_same = output == mantissas_of(here_, here_.output) &&
                         input_error == mantissas_of(here_, here_.input_error) &&
                         sums_of(there_, product_) == sums_of(here_, product_);
    if (!is_same) fmt::print("  layers {}: NOT the integers of the CPU\n", layer_.layers);
    return is_same;
  }

  void show(const std::array<std::array<std::vector<Nanoseconds>, 3>, 3>& times) const {
    constexpr const char* kPasses[] = {"forward", "input error", "weight gradient"};
    for (std::size_t pass = 0; pass < 3; ++pass) {
      fmt::print("{:<6} {:>3}->{:<3} {:>3}x{:<3} {:<16}", layer_.layers, layer_.input.channels,
                 layer_.channels, layer_.input.height, layer_.input.width, kPasses[pass]);
      double all = 0;
      for (std::size_t part = 0; part < 3; ++part) {
        const double each = static_cast<double>(median_of(times[pass][part])) / 1e6;
        all += each;
        fmt::print(" {:>8.3f}", each);
      }
      fmt::print("  {:>8.3f}", all);
      if (layer_.xavier) {
        const Parts& xavier = (*layer_.xavier)[pass];
        fmt::print("   {:>6.2f} {:>5.2f} {:>6.2f}", xavier[0], xavier[1], xavier[2]);
      }
      fmt::print("\n");
    }
  }

  const Layer& layer_;
  ProductCase product_;
  Place here_;
  Place there_;
  Wire wire_;
};

}  // namespace

int main(int count, char** words) {
  try {
    register_cuda_backend();
    const auto cpu = make_backend("cpu");
    const auto device = make_backend(count > 1 ? words[1] : "cuda");
    fmt::print("{:<40}     load  compute   unload       sum   Xavier, fp32 (ms)\n",
               "layers of 32 images");
    bool is_right = true;
    for (const Layer& layer : kLayers) is_right = Offload(*cpu, *device, layer).run() && is_right;
    fmt::print("{}\n", is_right ? "all passes equal the CPU's in integers" : "a pass differs");
    return is_right ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
