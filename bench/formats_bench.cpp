// SPDX-License-Identifier: Apache-2.0
// Speed of quantize: nanoseconds an element in cache, share of memcpy out of cache, result checked.
//
// usage: formats_bench [--quick | --codes] [format …]
//        --codes: of encode and decode instead, nanoseconds an element on one thread
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/isa.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"
#include "nibble/kernels/quantize.h"

namespace {

using nibble::DType;
using nibble::Format;
using nibble::QuantizeOptions;
using nibble::Shape;
using nibble::Tensor;

// Roughly normal: the sum of four uniforms, which needs no libm.
Tensor normals(std::int64_t count) {
  Tensor tensor(DType::f32, Shape{count});
  const auto values = tensor.as<float>();
  nibble::parallel_for(values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto words = nibble::philox4x32_10({static_cast<std::uint32_t>(i), 0, 0, 0}, {1, 2});
      double sum = 0;
      for (const std::uint32_t word : words) sum += static_cast<double>(word) * 0x1p-32 - 0.5;
      values[i] = static_cast<float>(sum * 1.7);
    }
  });
  return tensor;
}

// Median seconds of one call; each repeat makes enough calls to last.
template <class Body>
double median_seconds(int repeats, int calls, const Body& body) {
  body();
  std::vector<double> times;
  for (int r = 0; r < repeats; ++r) {
    const auto start = std::chrono::steady_clock::now();
    for (int c = 0; c < calls; ++c) body();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    times.push_back(spent.count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Against the definition, on the first elements that make whole blocks.
bool is_right(const Tensor& input, const Tensor& output, const Format& format,
              const QuantizeOptions& options) {
  const std::int64_t count = std::min<std::int64_t>(input.elements(), 1 << 14);
  if (format.scaling.granularity == nibble::Granularity::tensor &&
      format.scaling.kind == nibble::ScaleKind::power_of_two && count < input.elements()) {
    return true;  // its scale needs the whole tensor; checked in cache
  }
  if (format.scaling.kind == nibble::ScaleKind::two_level && count < input.elements()) return true;
  const nibble::Isa isa = nibble::active_isa();
  Tensor expected(DType::f32, Shape{count});
  nibble::set_isa(nibble::Isa::reference);
  quantize({input.data(), DType::f32, Shape{count}}, expected.view(), format, options);
  nibble::set_isa(isa);
  return std::memcmp(expected.data(), output.data(), expected.bytes()) == 0;
}

void parallel_copy(const Tensor& from, Tensor& to) {
  const std::size_t piece =
      (from.bytes() / static_cast<std::size_t>(nibble::thread_count()) + 4095) & ~std::size_t{4095};
  nibble::parallel_for(from.bytes(), piece, [&](std::size_t begin, std::size_t end) {
    std::memcpy(to.data() + begin, from.data() + begin, end - begin);
  });
}

std::vector<std::string> default_formats() {
  return {"fp16",
          "bf16",
          "e5m2",
          "e4m3",
          "e4m3fnuz",
          "e2m1",
          "e6m9",
          "fixed(8,4)",
          "int8(scale=0.02)",
          "uint8(scale=0.02,zero=128)",
          "bfp(8,block=32)",
          "mxfp8-e4m3",
          "mxfp6-e2m3",
          "mxfp4",
          "mxint8",
          "nvfp4",
          "bfp(8)",
          "posit(8,1)",
          "posit(16,2)",
          "codebook(nf4)",
          "nf4"};
}

// Of both in cache; then of as many elements as leave it, where memory for the codes is new each
// time.
bool print_codes(const std::string& text, const Tensor& small, const Tensor& large) {
  const Format format = nibble::parse_format(text);
  std::string columns;
  bool right = true;
  for (const char* rounding : {"nearest-even", "stochastic"}) {
    const QuantizeOptions options{.rounding = nibble::parse_rounding(rounding),
                                  .random = {.seed = 1}};
    for (const Tensor* input : {&small, &large}) {
      const double seconds = median_seconds(9, input == &small ? 20 : 1,
                                            [&] { encode(input->view(), format, options); });
      columns += fmt::format(" {:>10.3f}", 1e9 * seconds / static_cast<double>(input->elements()));
    }
    const nibble::Encoded found = encode(small.view(), format, options);
    const nibble::Isa isa = nibble::active_isa();
    nibble::set_isa(nibble::Isa::reference);
    const nibble::Encoded wanted = encode(small.view(), format, options);
    nibble::set_isa(isa);
    right =
        right && std::memcmp(found.codes.data(), wanted.codes.data(), wanted.codes.bytes()) == 0;
  }
  const nibble::Encoded encoded = encode(small.view(), format);
  Tensor values(DType::f32, small.shape());
  const double seconds =
      median_seconds(9, 20, [&] { decode(encoded, format, values.as<float>()); });
  fmt::print("{:<28}{} {:>10.3f}  {}\n", text, columns,
             1e9 * seconds / static_cast<double>(small.elements()), right ? "yes" : "NO");
  std::fflush(stdout);
  return right;
}

struct Column {
  int threads = 1;
  double copy_seconds = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool quick = mode == "--quick";
  const bool codes = mode == "--codes";
  const std::vector<std::string> only(argv + (quick || codes ? 2 : 1), argv + argc);
  const std::vector<std::string> formats = only.empty() ? default_formats() : only;
  if (codes) {
    nibble::set_thread_count(1);
    const Tensor small = normals(1 << 14);
    const Tensor large = normals(1 << 22);
    fmt::print("isa {}\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n",
               name_of(nibble::active_isa()), "ns an element", "encode", "2^22", "stochastic",
               "2^22", "decode", "checked");
    return std::ranges::all_of(formats,
                               [&](const auto& each) { return print_codes(each, small, large); })
               ? 0
               : 1;
  }
  const std::int64_t small = 1 << 14;
  const std::int64_t large = quick ? 1 << 22 : 1 << 26;
  const Tensor small_input = normals(small);
  const Tensor large_input = normals(large);
  Tensor small_output(DType::f32, Shape{small});
  Tensor large_output(DType::f32, Shape{large});
  const int repeats = quick ? 5 : 9;
  const int all = nibble::thread_count();

  std::vector<Column> columns = {{1}};
  if (all > 1) columns.push_back({all});
  fmt::print("isa {}, {} and {} threads; memcpy of {} MiB:", name_of(nibble::active_isa()), 1, all,
             large_input.bytes() >> 20);
  for (Column& column : columns) {
    nibble::set_thread_count(column.threads);
    column.copy_seconds =
        median_seconds(repeats, 1, [&] { parallel_copy(large_input, large_output); });
    fmt::print(" {:.1f} GB/s on {}",
               2e-9 * static_cast<double>(large_input.bytes()) / column.copy_seconds,
               column.threads);
  }
  fmt::print("\n\n{:<16} {:<14} {:>12} {:>14} {:>14}  {}\n", "format", "rounding", "ns in cache",
             "% memcpy, 1", fmt::format("% memcpy, {}", all), "checked");

  for (const std::string& text : formats) {
    const Format format = nibble::parse_format(text);
    for (const char* rounding : {"nearest-even", "stochastic", "stochastic(16)"}) {
      const QuantizeOptions options{.rounding = nibble::parse_rounding(rounding),
                                    .random = {.seed = 1}};
      nibble::set_thread_count(1);
      const double seconds = median_seconds(4 * repeats, 20, [&] {
        quantize(small_input.view(), small_output.view(), format, options);
      });
      bool right = is_right(small_input, small_output, format, options);
      std::string shares;
      for (const Column& column : columns) {
        nibble::set_thread_count(column.threads);
        // memcpy again beside each measurement: the machine's bandwidth drifts.
        std::vector<double> ratios;
        quantize(large_input.view(), large_output.view(), format, options);
        for (int r = 0; r < repeats; ++r) {
          const double copy =
              median_seconds(1, 1, [&] { parallel_copy(large_input, large_output); });
          const double mine = median_seconds(
              1, 1, [&] { quantize(large_input.view(), large_output.view(), format, options); });
          ratios.push_back(100 * copy / mine);
        }
        std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
        shares += fmt::format(" {:>14.0f}", ratios[ratios.size() / 2]);
        right = right && is_right(large_input, large_output, format, options);
      }
      fmt::print("{:<16} {:<14} {:>12.3f}{}  {}\n", text, rounding,
                 1e9 * seconds / static_cast<double>(small), shares, right ? "yes" : "NO");
      std::fflush(stdout);
      if (!right) return 1;
    }
  }
  return 0;
}
