// SPDX-License-Identifier: Apache-2.0
// nibble signature: one hash over a fixed set of roundings, codes, matrix products and trainings.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/nibble/verb.h"
#include "apps/nibble/verb_parts.h"
#include "core/hash.h"
#include "nibble/core/error.h"
#include "nibble/kernels/accumulate.h"
#include "nibble/kernels/quantize.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kColumns = 211;
constexpr RandomKey kDraws{.seed = 0x6e6962626c65, .stream = 3, .step = 5};

// Beside every named format.
constexpr std::string_view kFormats =
    "fixed(8,4) fixed(16,8,symmetric) int4(scale=0.1,zero=3) int8(scale=0.05) uint8(scale=minmax) "
    "int8(scale=absmax,axis=0) int4(scale=absmax,block=16) bfp(8) bfp(8,axis=0) bfp(8,block=16) "
    "bfp(8,block=5,axis=0,rule=ceil) mxfp4(rule=even) mxfp4(rule=rceil) posit(8,0) posit(8,1) "
    "posit(8,2) posit(16,1) posit(16,2) posit(32,2) codebook(new_format) codebook(act_format) "
    "p3109(8,4) p3109(8,3,unsigned) p3109(6,3,finite) e6m9 float(4,3) fp16(subnormals=off) "
    "e4m3(scale=absmax)";

constexpr std::array kRoundings = {"nearest-even", "nearest-away", "toward-zero", "up",
                                   "down",         "to-odd",       "stochastic",  "stochastic(16)"};

// Bits of values at which formats change their minds: zeros, ties, the largest of common formats
// and just beyond, subnormals, the largest fp32, infinities, NaN.
constexpr std::array<std::uint32_t, 20> kEdges = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000,
    0xc0600000, 0x43e00000, 0x43e80000, 0x47600000, 0x477fe000, 0x477ff000, 0x33800000,
    0x33000000, 0x00000001, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000};

// A sum of four 16-bit integers, roughly normal, times a power of two: no operation rounds.
float moderate(std::uint32_t a, std::uint32_t b, int exponent) {
  const auto half = [](std::uint32_t bits) {
    return static_cast<int>(static_cast<std::int16_t>(bits & 0xffff));
  };
  const int sum = half(a) + half(a >> 16) + half(b) + half(b >> 16);
  const float unit = std::bit_cast<float>(static_cast<std::uint32_t>(127 - 16 + exponent) << 23);
  return static_cast<float>(sum) * unit;
}

// The input, from counters alone. A wild one also holds any bit pattern and special values.
Tensor make_input(bool is_wild) {
  Tensor tensor(DType::f32, Shape{kRows, kColumns});
  std::uint64_t i = 0;
  for (float& x : tensor.as<float>()) {
    const PhiloxBlock bits =
        philox4x32_10({static_cast<std::uint32_t>(i++), 0, is_wild ? 1U : 0U, 0}, {1, 2});
    const std::uint32_t kind = bits[0] % 8;
    x = moderate(bits[1], bits[2], static_cast<int>(bits[3] % (is_wild ? 24 : 6)) - 10);
    if (is_wild && kind < 3) x = std::bit_cast<float>(bits[1]);
    if (is_wild && kind == 3) x = std::bit_cast<float>(kEdges[bits[1] % kEdges.size()]);
  }
  return tensor;
}

Tensor without_nan(const Tensor& input) {
  Tensor tensor(DType::f32, input.shape());
  for (std::size_t i = 0; i < tensor.as<float>().size(); ++i) {
    const float x = input.as<float>()[i];
    tensor.as<float>()[i] = std::isnan(x) ? 0.0F : x;
  }
  return tensor;
}

void add_values(Hasher& hasher, Tensor& values) {
  for (float& x : values.as<float>()) {
    if (std::isnan(x)) x = std::bit_cast<float>(0x7fc00000U);
  }
  hasher.add(std::as_const(values).as<float>());
}

void add_bytes(Hasher& hasher, const Tensor& tensor) {
  hasher.add(std::span<const std::byte>(tensor.data(), tensor.bytes()));
}

// Values and codes of one format by one rounding.
std::uint64_t hash_rounding(const Format& format, const QuantizeOptions& options,
                            const std::vector<Tensor>& inputs) {
  Hasher hasher;
  for (const Tensor& input : inputs) {
    Tensor output(DType::f32, input.shape());
    quantize(input.view(), output.view(), format, options);
    add_values(hasher, output);
    const Tensor numbers = without_nan(input);
    const Encoded encoded = encode(numbers.view(), format, options);
    add_bytes(hasher, encoded.codes);
    add_bytes(hasher, encoded.scales);
    add_bytes(hasher, encoded.zeros);
    hasher.add(std::span<const float>(&encoded.tensor_scale, 1));
  }
  return hasher.value();
}

bool has_meaning(const Format& format, Overflow overflow) {
  try {
    check_combination(format, {}, overflow);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<std::pair<std::string, Accumulator>> accumulators() {
  std::vector<std::pair<std::string, Accumulator>> list;
  const auto add = [&](const char* format, const char* rounding, SumMethod method, SumOrder order,
                       int chunk, const char* words) {
    Accumulator accumulator = accumulator_of(parse_format(format));
    accumulator.rounding = parse_rounding(rounding);
    accumulator.method = method;
    accumulator.order = order;
    accumulator.chunk = chunk;
    accumulator.random = kDraws;
    list.emplace_back(fmt::format("matmul {} {} {}", format, rounding, words), accumulator);
  };
  const SumOrder sequential = SumOrder::sequential;
  add("fp32", "nearest-even", SumMethod::separate, sequential, 0, "separate");
  add("fp16", "nearest-even", SumMethod::separate, sequential, 0, "separate");
  add("fp16", "nearest-even", SumMethod::fused, sequential, 0, "fused");
  add("bf16", "stochastic", SumMethod::separate, sequential, 16, "separate chunk=16");
  add("bf16", "nearest-even", SumMethod::separate, SumOrder::pairwise, 0, "pairwise");
  add("e6m9", "nearest-even", SumMethod::kahan, sequential, 0, "kahan");
  add("fixed(16,8)", "stochastic(16)", SumMethod::fused, sequential, 0, "fused");
  add("posit(16,1)", "nearest-even", SumMethod::quire, sequential, 0, "quire");
  return list;
}

// The first m·n numbers of a tensor as a matrix.
ConstTensorView matrix(const Tensor& tensor, std::int64_t m, std::int64_t n) {
  return {tensor.data(), DType::f32, Shape{m, n}};
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const NamedFormat& named : named_formats()) names.emplace_back(named.name);
  std::istringstream others{std::string(kFormats)};
  for (std::string name; others >> name;) names.push_back(name);
  return names;
}

void run(bool is_verbose, bool is_long, const std::string& device) {
  std::vector<Tensor> inputs;
  for (const bool is_wild : {false, true}) inputs.push_back(make_input(is_wild));
  Hasher all;
  const auto record = [&](const std::string& what, std::uint64_t hash) {
    all.add(fmt::format("{} {}\n", what, hex(hash)));
    if (is_verbose) fmt::print("{}  {}\n", hex(hash), what);
  };

  for (const std::string& name : format_names()) {
    const Format format = parse_format(name);
    for (const char* rounding : kRoundings) {
      const QuantizeOptions options = {.rounding = parse_rounding(rounding), .random = kDraws};
      record(name + " " + rounding, hash_rounding(format, options, inputs));
    }
    for (const Overflow overflow : {Overflow::saturate, Overflow::infinity, Overflow::nan}) {
      if (!has_meaning(format, overflow)) continue;
      const std::string what = fmt::format("{} overflow={}", name, to_string(overflow));
      record(what, hash_rounding(format, {.overflow = overflow}, inputs));
    }
  }
  for (const auto& [name, accumulator] : accumulators()) {
    Tensor product(DType::f32, Shape{23, 19});
    matmul(matrix(inputs[0], 23, 83), matrix(inputs[0], 83, 19), product.view(), accumulator);
    Hasher hasher;
    add_values(hasher, product);
    record(name, hasher.value());
  }
  for (const auto& [name, hash] : inference_hashes()) record(name, hash);
  for (const auto& [name, hash] : integer_hashes(is_long, device)) record(name, hash);
  fmt::print("{}{}\n", hex(all.value()), is_verbose ? "  all" : "");
}

}  // namespace

void add_signature(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand(
      "signature", "one hash of all arithmetic: the same on every machine that computes the same");
  const auto is_verbose = std::make_shared<bool>(false);
  const auto is_long = std::make_shared<bool>(false);
  const auto device = std::make_shared<std::string>("cpu");
  add_device_option(verb, *device);
  verb.add_flag("--verbose", *is_verbose,
                "a hash for each format, rounding, accumulator, training");
  verb.add_flag("--long", *is_long,
                "with 50 steps of VGG-small-7 in integers: another hash, seconds to hours");
  verb.footer(
      "Examples:\n"
      "  nibble signature\n"
      "  diff <(NIBBLE_ISA=reference nibble signature --verbose) <(nibble signature --verbose)");
  verb.callback([is_verbose, is_long, device] { run(*is_verbose, *is_long, *device); });
}

}  // namespace nibble
