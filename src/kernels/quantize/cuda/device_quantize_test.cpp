// SPDX-License-Identifier: Apache-2.0
// quantize on a GPU equals quantize on the CPU bit for bit.
#include "nibble/kernels/device_quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <string>

#include "kernels/quantize/cuda/device_test_support.h"
#include "kernels/quantize/test_formats.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "numerics/compat_qtorch.h"

namespace nibble::inline kernels {
namespace {

std::uint32_t element_bits(const std::vector<std::uint8_t>& bytes, DType type, std::size_t i) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size_of(type), size_of(type));
  return bits;
}

void expect_same_bytes(const std::vector<float>& input, const std::vector<std::uint8_t>& got,
                       const std::vector<std::uint8_t>& expected, DType type,
                       const std::string& what) {
  if (got == expected) return;
  std::size_t different = 0;
  std::size_t first = input.size();
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (element_bits(got, type, i) == element_bits(expected, type, i)) continue;
    ++different;
    first = std::min(first, i);
  }
  ADD_FAILURE() << what << ": " << different << " of " << input.size() << " differ, first element "
                << first << " = " << std::hexfloat << input[first] << " (0x" << std::hex
                << std::bit_cast<std::uint32_t>(input[first]) << ") gave 0x"
                << element_bits(got, type, first) << ", the CPU 0x"
                << element_bits(expected, type, first);
}

// None is special, so that blocks of them have ordinary scales.
std::vector<float> ordinary_inputs(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(1.0F - 2.0F * static_cast<float>(draw32({}, i)) * 0x1p-32F,
                           static_cast<int>(i / 16 % 12));
  }
  return values;
}

void compare_of(const std::vector<float>& values, const Shape& shape, const Format& format,
                const QuantizeOptions& options, const DeviceRun& run, const std::string& what) {
  const std::vector<std::uint8_t> input = bytes_as(run.input, values);
  std::vector<std::uint8_t> expected;
  try {
    expected = quantized_on_host(input, shape, format, options, run);
  } catch (const Error&) {
    EXPECT_THROW(quantized_on_device(input, shape, format, options, run), Error) << what;
    return;
  }
  expect_same_bytes(values, quantized_on_device(input, shape, format, options, run), expected,
                    run.output, what);
}

void compare(const Shape& shape, const Format& format, const QuantizeOptions& options,
             const DeviceRun& run, const std::string& what) {
  compare_of(mixed_inputs(static_cast<std::size_t>(shape.elements()), format), shape, format,
             options, run, what);
}

class DeviceFormat : public testing::TestWithParam<std::string> {};

TEST_P(DeviceFormat, GivesTheCpusBitsUnderEveryRounding) {
  const Format format = parse_format(GetParam());
  for (const Shape& shape : {Shape{6, 331}, Shape{5, 512}}) {
    for (const Rounding& rounding : all_roundings()) {
      compare(shape, format, {.rounding = rounding, .random = {.seed = 7, .stream = 3, .step = 2}},
              {}, GetParam() + " " + to_string(rounding) + " " + shape.to_string());
    }
  }
}

TEST_P(DeviceFormat, TakesOrdinaryNumbers) {
  const Shape shape{5, 512};
  for (const Rounding& rounding : all_roundings()) {
    compare_of(ordinary_inputs(shape), shape, parse_format(GetParam()), {.rounding = rounding}, {},
               GetParam() + " " + to_string(rounding));
  }
}

TEST_P(DeviceFormat, TakesEveryOverflowRule) {
  const Format format = parse_format(GetParam());
  for (const Overflow overflow : {Overflow::saturate, Overflow::infinity, Overflow::nan}) {
    for (const RoundingMode mode :
         {RoundingMode::nearest_even, RoundingMode::up, RoundingMode::stochastic}) {
      compare({3, 256}, format, {.rounding = {mode}, .overflow = overflow}, {},
              GetParam() + " overflow " + std::string(to_string(overflow)));
    }
  }
}

TEST_P(DeviceFormat, TakesEveryTypeAndPlace) {
  const Format format = parse_format(GetParam());
  const Rounding rounding{RoundingMode::stochastic, 16};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const bool narrow : {false, true}) {
      const DType output = narrow ? type : DType::f32;
      const std::string what =
          GetParam() + " " + std::string(name_of(type)) + " to " + std::string(name_of(output));
      compare({3, 4, 64}, format, {}, {type, output}, what);
      compare({3, 4, 64}, format, {.rounding = rounding}, {type, output}, what + " stochastic");
      compare({5, 77}, format, {}, {type, output, 1}, what + " unaligned");
      if (narrow) compare({5, 77}, format, {}, {type, output, 0, true}, what + " in place");
    }
  }
}

TEST_P(DeviceFormat, TakesLargeTensors) {
  const Format format = parse_format(GetParam());
  for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic}}) {
    compare({5, 40032}, format, {.rounding = rounding, .random = {.seed = 1}}, {}, GetParam());
  }
}

TEST_P(DeviceFormat, FollowsThePackages) {
  const Format format = parse_format(GetParam());
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits, Compat::qtorch_plus}) {
    for (const Rounding& rounding : {Rounding{}, Rounding{RoundingMode::stochastic}}) {
      if (!compat_supports(format, rounding, compat)) continue;
      compare({6, 331}, format, {.rounding = rounding, .compat = compat}, {},
              GetParam() + " compat " + std::string(to_string(compat)) + " " + to_string(rounding));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DeviceQuantize, DeviceFormat, testing::ValuesIn(formats_under_test()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + std::to_string(test.index);
                         });

TEST(DeviceQuantize, TakesScalesBesideTheData) {
  compare({4, 6, 5}, parse_format("int8(axis=1)"),
          {.scales = {0.5F, 0.1F, 0.25F, 0.3F, 2, 1}, .zeros = {0, 3, -7, 1, 100, 5}}, {}, "axis");
  compare({4, 6}, parse_format("e4m3(axis=-1)"),
          {.rounding = {RoundingMode::stochastic, 16}, .scales = {0.5F, 0.1F, 0.25F, 0.3F, 2, 1}},
          {}, "float axis");
}

TEST(DeviceQuantize, TakesALineThatEndsInsideABlock) {
  for (const char* text : {"mxfp4", "nvfp4", "int8(scale=absmax,block=64)"}) {
    for (const std::int64_t length : {1, 3, 1000, 2049, 4095}) {
      compare({length}, parse_format(text), {}, {}, text + std::to_string(length));
      compare({length}, parse_format(text), {.rounding = {RoundingMode::stochastic}}, {},
              text + std::to_string(length) + " stochastic");
    }
  }
}

// Whole tiles of fp32, which have kernels of their own.
TEST(DeviceQuantize, TakesWholeTilesOfCodebooks) {
  const Shape shape{6, 4096};
  for (const char* text :
       {"nf4", "nf4(block=16)", "nf4(block=4)", "codebook(nf4)", "codebook(nf4,scale=0.7)",
        "codebook([0.5,1,2,4],signed)", "codebook([-0.5,0.001,0.002,1],scale=absmax,block=32)"}) {
    const Format format = parse_format(text);
    for (const Rounding& rounding : all_roundings()) {
      const std::string what = text + (" " + to_string(rounding));
      const QuantizeOptions options{.rounding = rounding, .random = {.seed = 9, .stream = 1}};
      compare_of(ordinary_inputs(shape), shape, format, options, {}, what);
      compare(shape, format, options, {}, what + " mixed");
      compare(shape, format, options, {DType::f32, DType::f32, 1}, what + " unaligned");
    }
  }
}

// What the data would give, given.
TEST(DeviceQuantize, TakesTheScaleOfTheTensor) {
  const Shape shape{5, 4096};
  for (const char* text : {"nvfp4", "nvfp4(block=32)", "nvfp4(block=24)"}) {
    for (const Rounding& rounding : all_roundings()) {
      const QuantizeOptions options{.rounding = rounding, .random = {.seed = 3}};
      Format format = parse_format(text);
      const std::vector<float> values = ordinary_inputs(shape);
      const std::vector<std::uint8_t> input = bytes_as(DType::f32, values);
      const auto found = quantized_on_device(input, shape, format, options, {});
      format.scaling.tensor_scale = encode(view_as(DType::f32, input, shape), format).tensor_scale;
      const auto given = quantized_on_device(input, shape, format, options, {});
      expect_same_bytes(values, given, found, DType::f32, to_string(format));
      expect_same_bytes(values, given, quantized_on_host(input, shape, format, options), DType::f32,
                        to_string(format));
    }
  }
  EXPECT_EQ(device_quantize_workspace(shape, parse_format("nvfp4(tensor_scale=0.1)")), 0U);
}

TEST(DeviceQuantize, HandlesScalarsAndNothing) {
  compare({}, parse_format("e4m3"), {}, {}, "scalar");
  compare({}, parse_format("int8(scale=absmax)"), {}, {}, "scaled scalar");
  device_quantize({}, {}, Shape{0, 3}, parse_format("e4m3"), {}, nullptr, {});
}

// A captured call allocates nothing and waits for nothing, or the capture fails.
TEST(DeviceQuantize, RunsOnSideStreamsAndInGraphs) {
  const Shape shape{64, 512};
  for (const char* text : {"e4m3", "nvfp4", "int8(scale=absmax,axis=0)", "codebook(new_format)",
                           "bfp(8,axis=0)", "e8m7(scale=pow2,block=32)"}) {
    const Format format = parse_format(text);
    const QuantizeOptions options{.rounding = {RoundingMode::stochastic}};
    const std::vector<float> values =
        mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    const std::vector<std::uint8_t> input = bytes_as(DType::f32, values);
    cuda::TestMemory<std::uint8_t> from(input.size());
    cuda::TestMemory<std::uint8_t> to(input.size());
    cuda::TestMemory<std::uint8_t> workspace(device_quantize_workspace(shape, format, options));
    from.put(input);
    cuda::TestStream stream;
    stream.run_captured(2, [&] {
      device_quantize({from.data(), DType::f32}, {to.data(), DType::f32}, shape, format, options,
                      workspace.data(), stream.place());
    });
    expect_same_bytes(values, to.get(), quantized_on_host(input, shape, format, options),
                      DType::f32, text);
  }
}

}  // namespace
}  // namespace nibble::inline kernels
