// SPDX-License-Identifier: Apache-2.0
// Speed of integer training on a GPU: whole steps by exact and by delayed shifts, and every product
// of a step, sustained.
//   cuda_training_bench [steps | layers] [NETWORK BATCH]
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/register.h"
#include "bench/integer_runner.h"
#include "bench/layer_passes.h"
#include "bench/network_to_measure.h"
#include "bench/stopwatch.h"
#include "cuda/errors.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

namespace {

using namespace nibble;

constexpr double kLimit = 1278e12;  // int8 operations a second, mma.sync from registers of an H200
const std::string kDevice = "cuda";

// Whether some steps move the weights as the CPU does.
bool is_right(const std::string& network, std::int64_t batch) {
  const auto hash = [&](const std::string& device) {
    IntegerRunner runner(network, batch, ShiftRule::exact, true, device);
    for (int i = 0; i < 3; ++i) runner.step();
    return runner.weights_hash();
  };
  return hash(kDevice) == hash("cpu");
}

std::size_t free_bytes() {
  std::size_t left = 0;
  std::size_t all = 0;
  cuda::check("bench", cudaMemGetInfo(&left, &all));
  return left;
}

void measure_steps(const std::string& network, std::int64_t batch, ShiftRule rule) {
  constexpr int kWarmUp = 10;
  constexpr double kSeconds = 0.8;
  constexpr int kInARow = 50;
  const std::size_t free_before = free_bytes();
  IntegerRunner runner(network, batch, rule, true, kDevice);
  runner.median_seconds(kWarmUp);
  runner.forget_guesses();
  int steps = 0;
  double seconds = 0;
  for (; seconds < kSeconds; steps += kInARow) seconds += runner.seconds_in_a_row(kInARow);
  const IntegerRunner::Roundings roundings = runner.roundings();
  const double each = seconds / steps;
  fmt::print(
      "{:<18} batch {:>4}, {:<7}: {:>8.1f} us a step, {:>8.0f} images/s, {:>6.1f} TOP/s, {:.1f} % "
      "of guesses missed, {:.0f} MiB of values, {:.0f} MiB of the GPU\n",
      network, batch, name_of(rule), 1e6 * each, static_cast<double>(batch) / each,
      1e-12 * runner.operations() / each,
      100.0 * static_cast<double>(roundings.misses) /
          static_cast<double>(std::max<std::int64_t>(roundings.guesses, 1)),
      static_cast<double>(runner.peak_bytes()) / (1 << 20),
      static_cast<double>(free_before - free_bytes()) / (1 << 20));
}

void measure_steps(const std::string& network, std::int64_t batch) {
  for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed})
    measure_steps(network, batch, rule);
}

// What CUTLASS's collectives in its GEMM kernels reached on an H200, rounding and the largest sum
// included, gradients from operands that were turned before: TOP/s of forward, input error and
// weight gradient. docs/cuda.md tells of that prototype. Nobody makes the operands of LayerRun
// turned, as layers of a network do: its gradients turn both of them first.
struct PrototypeLayer {
  std::string_view name;
  std::int64_t batch;
  double tops[3];
};
constexpr PrototypeLayer kPrototype[] = {
    {"conv2", 256, {1108, 1109, 1304}},  {"conv3", 256, {1103, 1223, 1215}},
    {"conv4", 256, {1380, 1376, 1437}},  {"conv5", 256, {1282, 1385, 1099}},
    {"conv6", 256, {1506, 1503, 1351}},  {"conv2", 1024, {1286, 1278, 1415}},
    {"conv3", 1024, {1220, 1242, 1537}}, {"conv4", 1024, {1476, 1407, 1650}},
    {"conv5", 1024, {1366, 1505, 1457}}, {"conv6", 1024, {1538, 1467, 1427}},
};

// 0: it had no such layer.
double prototype_speed(const std::string& network, const std::string& layer, std::int64_t batch,
                       LayerPass pass) {
  for (const PrototypeLayer& each : kPrototype) {
    if (network == "vgg-small-7" && layer == each.name && batch == each.batch)
      return 1e12 * each.tops[static_cast<std::size_t>(pass)];
  }
  return 0;
}

// One product on random operands, again and again.
class LayerRun {
 public:
  LayerRun(const WeightedLayer& layer, std::int64_t images)
      : backend_(make_backend(kDevice)),
        weights_case_{.name = "layer.weight", .shape = {layer.weight.elements()}},
        product_(backend_->product({layer.window, layer.weight, layer.input, layer.output})),
        weights_(backend_->weights(weights_case_)),
        sums_(backend_->sums(weights_case_)),
        images_(images) {
    WeightsState state{.mantissas = Tensor(DType::i8, weights_case_.shape), .exponent = -8};
    fill(state.mantissas.as<std::int8_t>(), 1);
    weights_->write(state);
    begin();
    input_ = values(layer.input, 2);
    error_ = values(layer.output, 3);
    output_ = values(layer.output, 4);
    input_error_ = values(layer.input, 5);
    for (ShiftPoint& each : points_) each = backend_->new_point({"bench"});
  }

  // Of one product, after a quarter of that time to warm up.
  double seconds(LayerPass pass, double sustained) {
    constexpr int kTimes = 200;  // in one graph
    const auto run = [&] {
      begin();
      for (int i = 0; i < kTimes; ++i) once(pass);
      backend_->end();
      backend_->read_slots();
    };
    const auto mean_of = [&](double at_least) {
      int runs = 0;
      double seconds = 0;
      for (; seconds < at_least; ++runs) seconds += seconds_of(run);
      return seconds / (runs * kTimes);
    };
    for (int i = 0; i < 3; ++i) run();  // finds shifts, is recorded
    mean_of(sustained / 4);
    return mean_of(sustained);
  }

 private:
  void begin() { backend_->begin({.is_training = true, .all_images = images_}); }
  void once(LayerPass pass) {
    if (pass == LayerPass::forward)
      return product_->forward(input_, *weights_, nullptr, points_[0], output_);
    if (pass == LayerPass::input_error)
      return product_->input_error(error_, *weights_, points_[1], input_error_);
    product_->weight_gradient(input_, error_, *sums_);
  }
  static void fill(std::span<std::int8_t> numbers, std::uint32_t stream) {
    for (std::size_t i = 0; i < numbers.size(); i += 4) {
      const std::uint32_t draw = draw32({1, stream, 0}, i / 4);
      for (std::size_t k = 0; k < 4 && i + k < numbers.size(); ++k)
        numbers[i + k] = static_cast<std::int8_t>(draw >> 8 * k);
    }
  }
  Values values(const Picture& picture, std::uint32_t stream) {
    const Values made{.picture = picture,
                      .images = images_,
                      .memory = backend_->take(picture, images_),
                      .exponent = backend_->new_slot()};
    std::vector<std::int8_t> mantissas(static_cast<std::size_t>(images_ * picture.elements()));
    fill(mantissas, stream);
    backend_->load(mantissas, -7, made);
    return made;
  }

  std::unique_ptr<IntegerBackend> backend_;
  WeightsCase weights_case_;
  std::unique_ptr<ProductOp> product_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<Sums> sums_;
  std::int64_t images_;
  Values input_;
  Values error_;
  Values output_;
  Values input_error_;
  ShiftPoint points_[2];
};

void measure_layers(const std::string& network, std::int64_t batch, double sustained) {
  fmt::print("{}, batch {}: us and TOP/s of each product, sustained for {:.1f} s, share of {:.0f}",
             network, batch, sustained, 1e-12 * kLimit);
  fmt::print(" and, in brackets, of the prototype\n");
  for (const WeightedLayer& layer : weighted_layers(network_to_measure(network, true))) {
    fmt::print("{:<10}", layer.name);
    LayerRun run(layer, batch);
    for (const LayerPass pass :
         {LayerPass::forward, LayerPass::input_error, LayerPass::weight_gradient}) {
      if (pass == LayerPass::input_error && !layer.passes_error) continue;
      const double seconds = run.seconds(pass, sustained);
      const double speed = 2.0 * static_cast<double>(layer.products * batch) / seconds;
      fmt::print("  {} {:>6.1f} us {:>6.1f} {:>5.1f} %", name_of(pass), 1e6 * seconds,
                 1e-12 * speed, 100 * speed / kLimit);
      if (const double peer = prototype_speed(network, layer.name, batch, pass); peer > 0)
        fmt::print(" ({:>5.1f} %)", 100 * speed / peer);
    }
    fmt::print("\n");
  }
}

// Without words all within half a minute.
bool run(const std::vector<std::string>& words) {
  constexpr double kShort = 0.4;
  constexpr double kLong = 1;
  const bool has_network = words.size() == 3;
  const std::string network = has_network ? words[1] : "vgg-small-7";
  const std::int64_t batch = has_network ? std::stoll(words[2]) : 256;
  const bool is_equal = is_right(network, 8) && (has_network || is_right("lenet", 64));
  fmt::print("{}\n",
             is_equal ? "weights are those of the CPU" : "WRONG: other weights than the CPU's");
  const std::string what = words.empty() ? "all" : words[0];
  if (what != "layers" && has_network) measure_steps(network, batch);
  if (what != "layers" && !has_network) {
    for (const std::int64_t images : {256, 1024}) measure_steps("vgg-small-7", images);
    measure_steps("lenet", 64);
    measure_steps("mlp-784-100-50-10", 64);
  }
  if (what != "steps") measure_layers(network, batch, words.empty() ? kShort : kLong);
  return is_equal;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    register_cuda_backend();
    return run({argv + 1, argv + argc}) ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
