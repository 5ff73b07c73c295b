// SPDX-License-Identifier: Apache-2.0
// All 2^32 fp32 inputs through quantize and encode on the CPU and on the GPU, bits compared:
// fourteen formats under four roundings each, and seven formats' codes. An argument n takes every
// n-th stretch of inputs only, a second one starts at another than the first.
#include "kernels/quantize/cuda/device_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/test_memory.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline kernels {
namespace {

constexpr std::size_t kStretch = std::size_t{1} << 24;
constexpr std::size_t kStretches = std::size_t{1} << 8;
constexpr const char* kFormats[] = {"e4m3",
                                    "e5m2",
                                    "e2m1",
                                    "fp16",
                                    "bf16",
                                    "fixed(8,4)",
                                    "int8(scale=0.1)",
                                    "posit(8,1)",
                                    "posit(16,2)",
                                    "codebook(nf4)",
                                    "e4m3(scale=0.3)",
                                    "mxfp8",
                                    "mxfp4",
                                    "nvfp4(tensor_scale=0.7)"};
constexpr const char* kCodeFormats[] = {
    "e4m3", "e2m1", "bf16", "int8(scale=0.1)", "int4(scale=0.1)", "posit(8,1)", "codebook(nf4)"};
constexpr const char* kRoundings[] = {"nearest-even", "toward-zero", "stochastic(16)",
                                      "stochastic"};

struct Case {
  std::string name;
  Format format;
  QuantizeOptions options;
  std::size_t code_bytes = 0;  // 0: numbers, not codes
  std::uint64_t different = 0;
  std::string example = {};
};

// Memory that the GPU reads while the CPU goes on.
class PinnedFloats {
 public:
  explicit PinnedFloats(std::size_t count) {
    cuda::check("sweep", cudaMallocHost(&data_, count * sizeof(float)));
  }
  ~PinnedFloats() { cudaFreeHost(data_); }
  PinnedFloats(const PinnedFloats&) = delete;
  PinnedFloats& operator=(const PinnedFloats&) = delete;
  float* data() { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

// One of two buffers in turn: the CPU fills one while the GPU compares the other.
struct Lane {
  cuda::TestStream stream;
  PinnedFloats host{kStretch};
  cuda::TestMemory<std::uint32_t> expected{kStretch};
  cuda::TestMemory<std::uint32_t> got{kStretch};
};

class DeviceSweep {
 public:
  DeviceSweep() {
    for (const char* format : kFormats) {
      for (const char* rounding : kRoundings) {
        cases_.push_back({fmt::format("{} {}", format, rounding),
                          parse_format(format),
                          {.rounding = parse_rounding(rounding), .random = {.seed = 9}}});
      }
    }
    for (const char* format : kCodeFormats) {
      const Format parsed = parse_format(format);
      const std::size_t bytes = describe(parsed.element).code_bits > 8 ? 2 : 1;
      cases_.push_back({fmt::format("{} codes", format), parsed, {}, bytes});
    }
  }

  bool run(std::size_t every, std::size_t start) {
    cuda::check("sweep", cudaMemset(results_.data(), 0, cases_.size() * sizeof(cuda::SweepResult)));
    cuda::compare_divisions(results_.data(), {});
    const std::uint64_t divisions = results_.get()[0].different;
    fmt::print("{:32} {} differences\n", "divisions", divisions);
    cuda::check("sweep", cudaMemset(results_.data(), 0, sizeof(cuda::SweepResult)));
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t inputs = 0;
    for (std::size_t s = start; s < kStretches; s += every, inputs += kStretch) stretch(s);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::uint64_t different = 0;
    for (const Case& c : cases_) {
      fmt::print("{:32} {} differences{}\n", c.name, c.different, c.example);
      different += c.different;
    }
    fmt::print("{} inputs each, {} formats and roundings: {} differences, {:.0f} s\n", inputs,
               cases_.size(), different, seconds.count());
    return different + divisions == 0;
  }

 private:
  void quantize_both(const Case& one, const Shape& shape, Lane& lane) {
    device_quantize({patterns_.data(), DType::f32}, {lane.got.data(), DType::f32}, shape,
                    one.format, one.options, nullptr, lane.stream.place());
    quantize(view_of(std::span<const float>(input_)),
             view_of(std::span<float>(lane.host.data(), kStretch)), one.format, one.options);
  }

  // The GPU gives code 0 to a NaN that has none, the CPU refuses it.
  void encode_both(const Case& one, const Shape& shape, Lane& lane) {
    const DeviceEncoded encoded{{lane.got.data(), one.code_bytes == 2 ? DType::u16 : DType::u8},
                                false,
                                scales_.data(),
                                zeros_.data()};
    device_encode({patterns_.data(), DType::f32}, encoded, shape, one.format, one.options, nullptr,
                  lane.stream.place());
    const bool has_nan = describe(one.format.element).has_nan;
    const auto zero = static_cast<float>(decode_code(one.format.element, 0));
    for_all([&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        numbers_[i] = std::isnan(input_[i]) && !has_nan ? zero : input_[i];
    });
    const Encoded expected =
        encode(view_of(std::span<const float>(numbers_)), one.format, one.options);
    auto* codes = reinterpret_cast<std::byte*>(lane.host.data());
    for_all([&](std::size_t begin, std::size_t end) {
      std::memcpy(codes + begin * one.code_bytes, expected.codes.data() + begin * one.code_bytes,
                  (end - begin) * one.code_bytes);
    });
  }

  // By all threads: what one did alone took half of the sweep's time.
  template <class Body>
  static void for_all(const Body& body) {
    parallel_for(kStretch, 1 << 16, body);
  }

  void stretch(std::size_t number) {
    const auto first = static_cast<std::uint32_t>(number * kStretch);
    for_all([&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        input_[i] = std::bit_cast<float>(cuda::pattern_at(first + static_cast<std::uint32_t>(i)));
      }
    });
    cuda::fill_patterns(patterns_.data(), first, kStretch, {});
    cuda::check("sweep", cudaDeviceSynchronize());
    const Shape shape{static_cast<std::int64_t>(kStretch)};
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      Lane& lane = lanes_[c % 2];
      cuda::check("sweep", cudaStreamSynchronize(lane.stream.get()));
      const Case& one = cases_[c];
      const bool encodes = one.code_bytes != 0;
      const std::size_t bytes = kStretch * (encodes ? one.code_bytes : sizeof(float));
      encodes ? encode_both(one, shape, lane) : quantize_both(one, shape, lane);
      cuda::check("sweep", cudaMemcpyAsync(lane.expected.data(), lane.host.data(), bytes,
                                           cudaMemcpyHostToDevice, lane.stream.get()));
      cuda::compare_bits(lane.got.data(), lane.expected.data(), bytes / sizeof(std::uint32_t),
                         results_.data() + c, lane.stream.place());
    }
    const std::vector<cuda::SweepResult> results = results_.get();
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      if (results[c].different > cases_[c].different && cases_[c].example.empty()) {
        const std::size_t bytes = cases_[c].code_bytes;  // a word has several codes
        const std::size_t at = (results[c].example - 1) * (bytes == 0 ? 1 : 4 / bytes);
        cases_[c].example = fmt::format(", one at 0x{:08X}",
                                        cuda::pattern_at(first + static_cast<std::uint32_t>(at)));
      }
      cases_[c].different = results[c].different;
    }
  }

  std::vector<Case> cases_;
  std::vector<float> input_ = std::vector<float>(kStretch);
  std::vector<float> numbers_ = input_;  // those that have a code
  cuda::TestMemory<std::uint32_t> patterns_{kStretch};
  cuda::TestMemory<cuda::SweepResult> results_{64};
  cuda::TestMemory<float> scales_{1};
  cuda::TestMemory<std::int32_t> zeros_{1};
  Lane lanes_[2];
};

}  // namespace
}  // namespace nibble::inline kernels

int main(int count, char** arguments) {
  if (nibble::cuda::device_count() == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  try {
    const long every = count > 1 ? std::strtol(arguments[1], nullptr, 10) : 1;
    const long start = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 0;
    return nibble::DeviceSweep().run(static_cast<std::size_t>(std::max(every, 1L)),
                                     static_cast<std::size_t>(std::max(start, 0L)))
               ? 0
               : 1;
  } catch (const nibble::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
