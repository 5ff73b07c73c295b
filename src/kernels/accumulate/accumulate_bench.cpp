// SPDX-License-Identifier: Apache-2.0
// Multiply-accumulates a second of the simulated accumulator; --study prints what rounding does to
// sums.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/isa.h"
#include "kernels/accumulate/bench_matrices.h"
#include "kernels/accumulate/paths.h"
#include "kernels/accumulate/reference.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels {
namespace {

using accumulation::Operands;

struct Way {
  std::string_view name;
  SumMethod method = SumMethod::separate;
  SumOrder order = SumOrder::sequential;
  int chunk = 0;
};

Accumulator rules_of(std::string_view format, const Way& way,
                     std::string_view rounding = "nearest-even") {
  Accumulator rules = accumulator_of(parse_format(format));
  rules.rounding = parse_rounding(rounding);
  rules.method = way.method;
  rules.order = way.order;
  rules.chunk = way.chunk;
  return rules;
}

double seconds_of(Tensor& a, Tensor& b, Tensor& c, const Accumulator& rules) {
  const auto start = std::chrono::steady_clock::now();
  matmul(a.view(), b.view(), c.view(), rules);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Whether some outputs spread over the matrix are the definition's.
bool is_right(Tensor& a, Tensor& b, Tensor& c, const Accumulator& rules) {
  const Operands operands = {.a = a.as<float>().data(),
                             .b = b.as<float>().data(),
                             .rows = a.shape()[0],
                             .inner = a.shape()[1],
                             .columns = b.shape()[1]};
  const std::int64_t outputs = c.elements();
  for (std::int64_t at = 0; at < outputs; at += std::max<std::int64_t>(1, outputs / 61)) {
    const float expected = output_of(operands, rules, at / operands.columns, at % operands.columns);
    const float got = c.as<float>()[static_cast<std::size_t>(at)];
    if (std::bit_cast<std::uint32_t>(got) != std::bit_cast<std::uint32_t>(expected)) return false;
  }
  return true;
}

bool measure(std::string_view format, const Way& way, std::string_view rounding) {
  constexpr int kRepeats = 7;
  // Without a kernel only the definition runs, a hundred times slower.
  const std::int64_t size = way.method == SumMethod::quire ? 64 : 256;
  Tensor a = random_normal(size, size, 1);
  Tensor b = random_normal(size, size, 2);
  Tensor c(DType::f32, {size, size});
  const Accumulator rules = rules_of(format, way, rounding);
  std::vector<double> seconds(kRepeats);
  for (double& time : seconds) time = seconds_of(a, b, c, rules);
  std::ranges::sort(seconds);
  const bool right = is_right(a, b, c, rules);
  const auto products = static_cast<double>(size * size * size);
  fmt::print("{:<12} {:<14} {:<20} {:<10} {:8.3f} GMAC/s{}\n", format, rounding, way.name,
             name_of(last_isa_used()), products / seconds[kRepeats / 2] * 1e-9,
             right ? "" : "  WRONG");
  return right;
}

constexpr Way kWays[] = {{"separate", SumMethod::separate},
                         {"separate, chunk 64", SumMethod::separate, SumOrder::sequential, 64},
                         {"separate, pairwise", SumMethod::separate, SumOrder::pairwise},
                         {"fused", SumMethod::fused},
                         {"kahan", SumMethod::kahan},
                         {"quire", SumMethod::quire}};

bool measure_all() {
  bool right = true;
  for (const auto& [isa, tile_kernel] : supported_paths(kTilePaths)) {
    if (tile_kernel == nullptr) continue;
    set_isa(isa);
    fmt::print("\n{}, {} thread(s)\n", name_of(isa), thread_count());
    for (const char* format : {"e5m10", "bf16", "e4m3", "fixed(16,8)"}) {
      for (const Way& way : kWays) right = measure(format, way, "nearest-even") && right;
    }
    for (const char* rounding : {"toward-zero", "stochastic(16)", "stochastic"}) {
      right = measure("e5m10", kWays[0], rounding) && right;
    }
  }
  return right;
}

// Root mean square error of many dot products over the root mean square of the exact ones.
double relative_error(Tensor& a, Tensor& b, const Accumulator& rules,
                      const std::vector<double>& exact) {
  Tensor c(DType::f32, {a.shape()[0], b.shape()[1]});
  matmul(a.view(), b.view(), c.view(), rules);
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    errors += (c.as<float>()[i] - exact[i]) * (c.as<float>()[i] - exact[i]);
    squares += exact[i] * exact[i];
  }
  return std::sqrt(errors / squares);
}

// Doubles err by 2^-53 a sum: nothing beside the formats of the study.
std::vector<double> in_doubles(Tensor& a, Tensor& b) {
  const std::int64_t columns = b.shape()[1];
  std::vector<double> result;
  for (std::int64_t i = 0; i < a.shape()[0]; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < b.shape()[0]; ++k) {
        sum += static_cast<double>(a.as<float>()[static_cast<std::size_t>(i * b.shape()[0] + k)]) *
               b.as<float>()[static_cast<std::size_t>(k * columns + j)];
      }
      result.push_back(sum);
    }
  }
  return result;
}

void study() {
  Tensor a = random_normal(32, 4096, 1);
  Tensor b = random_normal(4096, 32, 2);
  const std::vector<double> exact = in_doubles(a, b);
  fmt::print("| accumulator | sequential | stochastic | chunk 64 | pairwise | kahan | quire |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const char* format : {"fp16", "bf16", "e4m3"}) {
    fmt::print("| {} |", format);
    const auto column = [&](const Way& way, std::string_view rounding) {
      fmt::print(" {:.2g} |", relative_error(a, b, rules_of(format, way, rounding), exact));
    };
    column(kWays[0], "nearest-even");
    column(kWays[0], "stochastic");
    for (const int way : {1, 2, 4, 5}) column(kWays[way], "nearest-even");
    fmt::print("\n");
  }
}

int usage() {
  fmt::print(stderr, "usage: accumulate_bench [--threads N] [--study]\n");
  return 2;
}

int run(int count, char** arguments) {
  set_thread_count(1);
  bool is_study = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--study")
      is_study = true;
    else if (argument == "--threads" && i + 1 < count)
      set_thread_count(std::atoi(arguments[++i]));
    else
      return usage();
  }
  if (is_study) {
    study();
    return 0;
  }
  return measure_all() ? 0 : 1;
}

}  // namespace
}  // namespace nibble::inline kernels

int main(int count, char** arguments) {
  return nibble::run(count, arguments);
}
