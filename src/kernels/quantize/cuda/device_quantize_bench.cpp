// SPDX-License-Identifier: Apache-2.0
// Speeds of quantize, encode and decode on a GPU as shares of its copy from memory to memory.
//
//   device_quantize_bench [format…]    all formats of the tables, or those named
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cuda/test_memory.h"
#include "nibble/core/error.h"
#include "nibble/core/philox.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline kernels {
namespace {

constexpr std::size_t kElements = std::size_t{1} << 28;
constexpr int kRuns = 9;

// Normal numbers: a stretch from the CPU, repeated on the device.
void fill_normal(cuda::TestMemory<float>& memory) {
  constexpr std::size_t kStretch = std::size_t{1} << 20;
  std::vector<float> values(kStretch);
  for (std::size_t i = 0; i < kStretch; i += 2) {
    const double u = (draw32({.seed = 5}, i) + 1.0) * 0x1p-32;
    const double v = draw32({.seed = 5}, i + 1) * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    values[i] = static_cast<float>(radius * std::cos(2 * M_PI * v));
    values[i + 1] = static_cast<float>(radius * std::sin(2 * M_PI * v));
  }
  cuda::check("bench", cudaMemcpy(memory.data(), values.data(), kStretch * sizeof(float),
                                  cudaMemcpyHostToDevice));
  for (std::size_t filled = kStretch; filled < kElements; filled *= 2) {
    cuda::check("bench", cudaMemcpy(memory.data() + filled, memory.data(), filled * sizeof(float),
                                    cudaMemcpyDeviceToDevice));
  }
}

class Bench {
 public:
  explicit Bench(std::vector<std::string> wanted)
      : wanted_(std::move(wanted)),
        input_(kElements),
        output_(kElements),
        values_(kElements),
        scales_(kElements / 16),
        rest_(1024) {
    fill_normal(input_);
    copy_ms_ = median([&] {
      cuda::check("bench", cudaMemcpyAsync(output_.data(), input_.data(), kElements * sizeof(float),
                                           cudaMemcpyDeviceToDevice, stream_.get()));
    });
    fmt::print("copy of 2^28 fp32 on the device: {:.3f} ms, {:.0f} GB/s\n\n", copy_ms_,
               2.0 * sizeof(float) * kElements / copy_ms_ * 1e-6);
  }

  // bytes: what has to move for an element; share of copying that much.
  void quantize(const std::string& text, const std::string& rounding, double bytes = 8) {
    if (!is_wanted(text)) return;
    const Format format = parse_format(text);
    const QuantizeOptions options{.rounding = parse_rounding(rounding)};
    cuda::TestMemory<std::uint8_t> workspace(device_quantize_workspace(kShape, format, options));
    row("quantize", text, rounding, bytes, [&] {
      device_quantize({input_.data(), DType::f32}, {output_.data(), DType::f32}, kShape, format,
                      options, workspace.data(), stream_.place());
    });
  }

  void codes(const std::string& text, bool packed) {
    if (!is_wanted(text)) return;
    const Format format = parse_format(text);
    const DeviceEncodedSizes sizes = device_encoded_sizes(kShape, format, packed);
    cuda::TestMemory<std::uint8_t> workspace(
        std::max(device_encode_workspace(kShape, format, packed),
                 device_decode_workspace(kShape, format, packed)));
    const DeviceEncoded encoded{
        {output_.data(), sizes.code_type},
        packed,
        sizes.has_scales ? scales_.data() : nullptr,
        sizes.has_zeros ? reinterpret_cast<std::int32_t*>(rest_.data()) : nullptr,
        rest_.data() + 512};
    const auto scale_bytes =
        sizes.has_scales ? 4.0 * static_cast<double>(sizes.scales.elements()) : 0;
    const double own = 4.0 + (static_cast<double>(sizes.code_bytes) + scale_bytes) / kElements;
    const bool scans = sizes.has_tensor_scale && format.scaling.tensor_scale == 0;
    const std::string what = packed ? "packed" : "codes";
    row("encode", text, what, own + (scans ? 4 : 0), [&] {
      device_encode({input_.data(), DType::f32}, encoded, kShape, format, {}, workspace.data(),
                    stream_.place());
    });
    row("decode", text, what, own, [&] {
      device_decode(encoded, {values_.data(), DType::f32}, kShape, format, workspace.data(),
                    stream_.place());
    });
  }

 private:
  bool is_wanted(const std::string& text) const {
    return wanted_.empty() || std::ranges::find(wanted_, text) != wanted_.end();
  }

  template <class Work>
  double median(const Work& work) {
    std::vector<double> times;
    for (int i = 0; i < kRuns + 2; ++i) {
      const double time = stream_.milliseconds(work);
      if (i >= 2) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  template <class Work>
  void row(const std::string& call, const std::string& text, const std::string& how, double bytes,
           const Work& work) {
    const double ms = median(work);
    const double own = copy_ms_ * bytes / 8;
    fmt::print("{:9} {:32} {:16} {:7.3f} ms {:5.1f} % of a copy of its {:.2f} bytes an element",
               call, text, how, ms, 100 * own / ms, bytes);
    if (bytes != 8 && call == "quantize") fmt::print(", {:.1f} % of one of 8", 100 * copy_ms_ / ms);
    fmt::print("\n");
    std::fflush(stdout);
  }

  inline static const Shape kShape{1 << 14, 1 << 14};
  std::vector<std::string> wanted_;
  cuda::TestStream stream_;
  cuda::TestMemory<float> input_, output_, values_, scales_, rest_;  // codes are in `output_`
  double copy_ms_ = 0;
};

void run(const std::vector<std::string>& wanted) {
  Bench bench(wanted);
  for (const char* text : {"e4m3", "e5m2", "fp16", "bf16", "p3109(8,3)", "e4m3fnuz", "fixed(8,4)",
                           "int8(scale=0.1)", "uint8(scale=0.05,zero=128)", "mxfp8", "mxfp4",
                           "mxint8", "nvfp4(tensor_scale=0.002)", "nf4"}) {
    for (const char* rounding : {"nearest-even", "stochastic(16)", "stochastic"}) {
      bench.quantize(text, rounding);
    }
  }
  for (const char* text : {"nvfp4", "bfp(8)", "int8(scale=absmax)", "uint8(scale=minmax)"}) {
    for (const char* rounding : {"nearest-even", "stochastic(16)", "stochastic"}) {
      bench.quantize(text, rounding, 12);
    }
  }
  for (const char* text : {"posit(8,1)", "posit(16,2)", "codebook(nf4)"}) {
    for (const char* rounding : {"nearest-even", "toward-zero", "stochastic(16)", "stochastic"}) {
      if (text[0] == 'p' && rounding[0] == 't') continue;
      bench.quantize(text, rounding);
    }
  }
  for (const char* text :
       {"e4m3", "p3109(8,3)", "e4m3fnuz", "int8(scale=0.1)", "mxfp8", "posit(8,1)", "fp16", "bf16",
        "e5m10fnuz", "int16(scale=0.01)", "posit(16,2)", "nf4"}) {
    bench.codes(text, false);
  }
  for (const char* text : {"e2m1", "int4(scale=0.1)", "mxfp4", "nvfp4(tensor_scale=0.002)", "nvfp4",
                           "codebook(nf4)", "nf4"}) {
    bench.codes(text, true);
  }
}

}  // namespace
}  // namespace nibble::inline kernels

int main(int count, char** arguments) {
  if (nibble::cuda::device_count() == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  try {
    nibble::run({arguments + 1, arguments + count});
  } catch (const nibble::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
