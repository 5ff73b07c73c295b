// SPDX-License-Identifier: Apache-2.0
// Multiply-accumulates a second of the simulated accumulator: a GPU beside all cores of the CPU,
// the results compared bit by bit.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/isa.h"
#include "cuda/test_memory.h"
#include "kernels/accumulate/bench_matrices.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/device_accumulate.h"

namespace nibble::inline kernels {
namespace {

constexpr std::int64_t kMostSize = 2048;
constexpr int kRepeats = 5;
constexpr double kWarmUpSeconds = 0.2;

struct Row {
  std::string_view format;
  std::string_view rounding;
  std::string_view name;
  SumMethod method = SumMethod::separate;
  SumOrder order = SumOrder::sequential;
  int chunk = 0;
  std::int64_t size = kMostSize;  // of the matrices on the GPU
  std::int64_t cpu_rows = 512;    // rows of a on the CPU, so that it takes about as long
};

constexpr std::string_view kNearest = "nearest-even";
constexpr SumOrder kSequential = SumOrder::sequential;
constexpr Row kRows[] = {
    {"fp16", kNearest, "separate"},
    {"bf16", kNearest, "separate"},
    {"e5m10", kNearest, "separate"},
    {"e5m10", kNearest, "separate, chunk 64", SumMethod::separate, kSequential, 64},
    {"e5m10", kNearest, "separate, pairwise", SumMethod::separate, SumOrder::pairwise},
    {"e5m10", kNearest, "fused", SumMethod::fused},
    {"e5m10", kNearest, "kahan", SumMethod::kahan, kSequential, 0, kMostSize, 256},
    {"e4m3", kNearest, "separate"},
    {"fixed(16,8)", kNearest, "separate"},
    {"e5m10", "toward-zero", "separate", SumMethod::separate, kSequential, 0, kMostSize, 256},
    {"e5m10", "stochastic(16)", "separate", SumMethod::separate, kSequential, 0, kMostSize, 128},
    {"e5m10", "stochastic", "separate", SumMethod::separate, kSequential, 0, kMostSize, 128},
    {"e5m10", "stochastic", "fused", SumMethod::fused, kSequential, 0, kMostSize, 128},
    {"e5m10", kNearest, "quire", SumMethod::quire, kSequential, 0, 1024, 64},
    {"posit(16,1)", kNearest, "separate", SumMethod::separate, kSequential, 0, 1024, 32},
    {"posit(16,1)", kNearest, "quire", SumMethod::quire, kSequential, 0, 1024, 64},
    {"posit(16,1)", "stochastic", "separate", SumMethod::separate, kSequential, 0, 1024, 16},
    {"codebook(nf4)", kNearest, "separate", SumMethod::separate, kSequential, 0, 1024, 16},
};

// After a warm-up, so that clocks have risen.
template <class Run>
double median_seconds(const Run& run) {
  std::vector<double> seconds(kRepeats);
  for (double spent = 0; spent < kWarmUpSeconds;) spent += run();
  for (double& time : seconds) time = run();
  std::ranges::sort(seconds);
  return seconds[kRepeats / 2];
}

struct Factors {
  Tensor a = random_normal(kMostSize, kMostSize, 1);
  Tensor b = random_normal(kMostSize, kMostSize, 2);
};

bool measure(const Row& row, Factors& factors, cuda::TestStream& stream) {
  Accumulator rules = accumulator_of(parse_format(row.format));
  rules.rounding = parse_rounding(row.rounding);
  rules.method = row.method;
  rules.order = row.order;
  rules.chunk = row.chunk;
  const std::int64_t size = row.size;
  Tensor c(DType::f32, {row.cpu_rows, size});
  // The first rows are a product of their own: outputs are numbered row by row.
  const ConstTensorView a(factors.a.view().data(), DType::f32, {row.cpu_rows, size});
  const ConstTensorView b(factors.b.view().data(), DType::f32, {size, size});
  const double cpu = median_seconds([&] {
    const auto start = std::chrono::steady_clock::now();
    matmul(a, b, c.view(), rules);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
  cuda::TestMemory<float> device_a(factors.a.as<float>());
  cuda::TestMemory<float> device_b(factors.b.as<float>());
  cuda::TestMemory<float> device_c(static_cast<std::size_t>(size * size));
  cuda::TestMemory<std::byte> workspace(device_matmul_workspace(rules));
  const double gpu = median_seconds([&] {
    return 1e-3 * stream.milliseconds([&] {
      device_matmul(device_a.data(), device_b.data(), device_c.data(), size, size, size, rules,
                    workspace.data(), stream.place());
    });
  });
  const std::vector<float> got = device_c.get();
  const bool is_right = std::ranges::equal(
      c.as<float>(), std::span(got).first(c.as<float>().size()), [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
      });
  const auto columns = static_cast<double>(size * size);
  const double gpu_speed = columns * static_cast<double>(size) / gpu * 1e-9;
  const double cpu_speed = columns * static_cast<double>(row.cpu_rows) / cpu * 1e-9;
  fmt::print("| {} | {} | {} | {:.1f} | {:.2f} | {:.0f} |{}\n", row.format, row.rounding, row.name,
             gpu_speed, cpu_speed, gpu_speed / cpu_speed, is_right ? "" : " WRONG");
  return is_right;
}

int run() {
  if (cuda::device_count() == 0) {
    fmt::print("skipped: no GPU\n");
    return 77;
  }
  fmt::print("GMAC/s on the GPU and on {} threads of the CPU ({})\n\n", thread_count(),
             name_of(active_isa()));
  fmt::print(
      "| accumulator | rounding | sums | GPU | CPU | GPU / CPU |\n|---|---|---|---|---|---|\n");
  Factors factors;
  cuda::TestStream stream;
  bool is_right = true;
  for (const Row& row : kRows) is_right = measure(row, factors, stream) && is_right;
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace nibble::inline kernels

int main() {
  return nibble::run();
}
