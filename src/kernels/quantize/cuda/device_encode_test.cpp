// SPDX-License-Identifier: Apache-2.0
// encode and decode on a GPU equal those of the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "kernels/quantize/codes.h"
#include "kernels/quantize/cuda/device_test_support.h"
#include "kernels/quantize/test_formats.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"

namespace nibble::inline kernels {
namespace {

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto span = tensor.as<T>();
  return {span.begin(), span.end()};
}

std::vector<std::uint8_t> raw_bytes(const Tensor& tensor) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(tensor.data());
  return {bytes, bytes + tensor.bytes()};
}

// What encode gives, on the device, `offset` elements from aligned addresses.
struct EncodedOnDevice {
  EncodedOnDevice(const Shape& shape, const Format& format, bool packed, std::size_t offset)
      : sizes(device_encoded_sizes(shape, format, packed)),
        start(offset * size_of(code_type(describe(format.element).code_bits))),
        codes(sizes.code_bytes + start),
        scales(groups()),
        zeros(groups()),
        tensor_scale(1),
        encoded{{codes.data() + start, sizes.code_type},
                packed,
                sizes.has_scales ? scales.data() : nullptr,
                sizes.has_zeros ? zeros.data() : nullptr,
                sizes.has_tensor_scale ? tensor_scale.data() : nullptr} {}

  void put(const Encoded& from, const std::vector<std::uint8_t>& bytes) {
    cuda::check("test", cudaMemcpy(codes.data() + start, bytes.data(), bytes.size(),
                                   cudaMemcpyHostToDevice));
    if (sizes.has_scales) scales.put(from.scales.as<float>());
    if (sizes.has_zeros) zeros.put(from.zeros.as<std::int32_t>());
    tensor_scale.put({&from.tensor_scale, 1});
  }

  std::vector<std::uint8_t> code_bytes() {
    const std::vector<std::uint8_t> all = codes.get();
    return {all.begin() + static_cast<std::ptrdiff_t>(start), all.end()};
  }

  std::size_t groups() const {
    return static_cast<std::size_t>(sizes.has_scales ? sizes.scales.elements() : 0);
  }

  DeviceEncodedSizes sizes;
  std::size_t start;
  cuda::TestMemory<std::uint8_t> codes;
  cuda::TestMemory<float> scales;
  cuda::TestMemory<std::int32_t> zeros;
  cuda::TestMemory<float> tensor_scale;
  DeviceEncoded encoded;
};

std::vector<std::uint8_t> bytes_of_codes(const Encoded& encoded, const Format& format,
                                         bool packed) {
  return packed ? pack_codes(encoded.codes.view(), describe(format.element).code_bits)
                : raw_bytes(encoded.codes);
}

void check_decode(const EncodedOnDevice& on_device, const Encoded& encoded, const Format& format,
                  std::size_t offset, const std::string& what) {
  const Tensor decoded = decode(encoded, format);
  const Shape& shape = encoded.codes.shape();
  const std::size_t start = offset * size_of(decoded.dtype());
  cuda::TestMemory<std::uint8_t> to(decoded.bytes() + start);
  cuda::TestMemory<std::uint8_t> workspace(
      device_decode_workspace(shape, format, on_device.encoded.packed));
  device_decode(on_device.encoded, {to.data() + start, decoded.dtype()}, shape, format,
                workspace.data(), {});
  const std::vector<std::uint8_t> got = to.get();
  EXPECT_EQ(std::vector<std::uint8_t>(got.begin() + static_cast<std::ptrdiff_t>(start), got.end()),
            raw_bytes(decoded))
      << what << " decoded";
}

struct EncodeCase {
  Rounding rounding;
  bool packed = false;
  DType type = DType::f32;
  std::size_t offset = 0;
  Overflow overflow = Overflow::native;
};

void check_encode(const std::vector<float>& values, const Shape& shape, const Format& format,
                  const EncodeCase& c) {
  const QuantizeOptions options{
      .rounding = c.rounding, .overflow = c.overflow, .random = {.seed = 3}};
  const std::vector<std::uint8_t> input = bytes_as(c.type, values);
  Encoded expected;
  try {
    expected = encode(view_as(c.type, input, shape), format, options);
  } catch (const Error&) {
    return;  // no meaning here: the CPU's tests say which
  }
  const std::string what = to_string(format) + " " + to_string(c.rounding) + " " +
                           shape.to_string() + (c.packed ? " packed" : "") + " offset " +
                           std::to_string(c.offset);
  const std::size_t start = c.offset * size_of(c.type);
  cuda::TestMemory<std::uint8_t> from(input.size() + start);
  cuda::check("test",
              cudaMemcpy(from.data() + start, input.data(), input.size(), cudaMemcpyHostToDevice));
  EncodedOnDevice got(shape, format, c.packed, c.offset);
  cuda::TestMemory<std::uint8_t> workspace(
      device_encode_workspace(shape, format, c.packed, options));
  device_encode({from.data() + start, c.type}, got.encoded, shape, format, options,
                workspace.data(), {});
  EXPECT_EQ(got.code_bytes(), bytes_of_codes(expected, format, c.packed)) << what;
  if (got.sizes.has_scales) {
    EXPECT_EQ(got.scales.get(), values_of<float>(expected.scales)) << what;
  }
  if (got.sizes.has_zeros) {
    EXPECT_EQ(got.zeros.get(), values_of<std::int32_t>(expected.zeros)) << what;
  }
  if (got.sizes.has_tensor_scale) {
    EXPECT_EQ(got.tensor_scale.get()[0], expected.tensor_scale) << what;
  }
  check_decode(got, expected, format, c.offset, what);
}

class DeviceCodes : public testing::TestWithParam<std::string> {
 protected:
  void check(const Shape& shape, const EncodeCase& c) const {
    std::vector<float> values = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    const bool has_nan = describe(format.element).has_nan;
    for (float& x : values) {
      if (std::isnan(x) && !has_nan) x = 1;
    }
    check_encode(values, shape, format, c);
  }

  Format format = parse_format(GetParam());
};

TEST_P(DeviceCodes, AreTheCpus) {
  for (const Rounding& rounding :
       {Rounding{}, Rounding{RoundingMode::up}, Rounding{RoundingMode::stochastic, 16}}) {
    check({6, 331}, {rounding});
    check({4, 256}, {rounding});
  }
  for (const bool packed : {false, true}) check({3, 87}, {.rounding = {}, .packed = packed});
  check({4, 256}, {.rounding = {}, .packed = true});
  check({0}, {});
}

// A thread block takes 4096 elements.
TEST_P(DeviceCodes, OfWholeTilesAreTheCpus) {
  for (const bool packed : {false, true}) {
    check({2, 6144}, {.rounding = {}, .packed = packed});
    check({4429}, {.rounding = {}, .packed = packed});
  }
}

TEST_P(DeviceCodes, MayStartAnywhere) {
  for (const bool packed : {false, true}) {
    check({2, 4128}, {.rounding = {}, .packed = packed, .offset = 1});
  }
}

TEST_P(DeviceCodes, FollowTheOverflowRules) {
  for (const Overflow overflow : {Overflow::saturate, Overflow::infinity, Overflow::nan}) {
    check({2, 2080}, {.rounding = {}, .overflow = overflow});
  }
}

TEST_P(DeviceCodes, OfHalvesAreTheCpus) {
  check({2, 4128}, {.rounding = {}, .type = DType::f16});
  check({2, 4128}, {.rounding = {}, .type = DType::bf16});
}

TEST_P(DeviceCodes, AllDecodeToTheCpusValues) {
  const int bits = describe(format.element).code_bits;
  if (bits > 16) return;
  const Shape shape = bits > 8 ? Shape{5, 13'109} : Shape{3, 4129};
  const std::vector<std::uint8_t> input = bytes_as(
      DType::f32,
      mixed_inputs(static_cast<std::size_t>(shape.elements()), parse_format("fixed(8,4)")));
  Encoded encoded;
  try {
    encoded = encode(view_as(DType::f32, input, shape), format);
  } catch (const Error&) {
    return;
  }
  const auto* table = std::get_if<CodebookElement>(&format.element);
  const std::size_t count = table != nullptr ? table->values.size() : std::size_t{1} << bits;
  const auto put_all = [&]<class T>(std::span<T> codes) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<T>(i % count);
  };
  bits > 8 ? put_all(encoded.codes.as<std::uint16_t>()) : put_all(encoded.codes.as<std::uint8_t>());
  for (const bool packed : {false, true}) {
    for (const std::size_t offset : {0, 1}) {
      EncodedOnDevice on_device(shape, format, packed, offset);
      on_device.put(encoded, bytes_of_codes(encoded, format, packed));
      check_decode(on_device, encoded, format, offset, GetParam() + (packed ? " packed" : ""));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DeviceEncode, DeviceCodes, testing::ValuesIn(formats_under_test()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + std::to_string(test.index);
                         });

TEST(DeviceEncode, WideCodesAreTheCpus) {
  const Shape shape{26, 1031};
  for (const char* text :
       {"fp16", "posit(16,2)", "posit(12,1)", "fixed(16,8)", "int16(scale=0.01)",
        "uint12(scale=minmax)", "int10(scale=absmax,block=32)", "fp16(scale=pow2,block=32)",
        "e6m9(scale=0.3)", "posit(16,1,scale=absmax,block=64)", "p3109(16,11)",
        "int16(axis=0,scale=absmax)"}) {
    const Format format = parse_format(text);
    std::vector<float> values = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    const bool has_nan = describe(format.element).has_nan;
    for (float& x : values) {
      if (std::isnan(x) && !has_nan) x = 1;
    }
    for (const bool packed : {false, true}) {
      for (const std::size_t offset : {0, 1}) {
        check_encode(values, shape, format, {.rounding = {}, .packed = packed, .offset = offset});
      }
    }
  }
}

// The CPU refuses it.
TEST(DeviceEncode, NanWithoutACodeIsCodeZero) {
  for (const char* text :
       {"e2m1", "int8(scale=0.1)", "fixed(8,4)", "mxfp4", "mxint8", "nvfp4", "codebook(nf4)"}) {
    const Format format = parse_format(text);
    const Shape shape{8192};
    std::vector<float> values =
        mixed_inputs(static_cast<std::size_t>(shape.elements()), parse_format("fixed(8,4)"));
    std::vector<float> numbers = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 7 == 0 || i / 32 == 5) values[i] = std::numeric_limits<float>::quiet_NaN();
      if (std::isnan(values[i])) numbers[i] = static_cast<float>(decode_code(format.element, 0));
    }
    const Encoded expected =
        encode(view_as(DType::f32, bytes_as(DType::f32, numbers), shape), format);
    cuda::TestMemory<float> from{std::span<const float>(values)};
    EncodedOnDevice got(shape, format, false, 0);
    cuda::TestMemory<std::uint8_t> workspace(device_encode_workspace(shape, format, false));
    device_encode({from.data(), DType::f32}, got.encoded, shape, format, {}, workspace.data(), {});
    EXPECT_EQ(got.code_bytes(), raw_bytes(expected.codes)) << text;
    if (got.sizes.has_scales) {
      EXPECT_EQ(got.scales.get(), values_of<float>(expected.scales)) << text;
    }
  }
}

// Where x·(1/s) does not say on which side of a tie x / s is.
TEST(DeviceEncode, TiesUnderScalesAreTheCpus) {
  for (const char* text :
       {"nvfp4", "nvfp4(block=32)", "int8(scale=absmax,block=32)", "int4(scale=absmax,block=64)",
        "e4m3(scale=absmax,block=16)", "e2m1(scale=absmax)", "e5m2(scale=0.37)", "int8(scale=0.1)",
        "uint8(scale=0.05,zero=129)", "uint8(scale=minmax)", "int16(scale=absmax,block=64)",
        "e5m10(scale=0.37)", "nf4", "nf4(block=16)", "codebook(nf4,scale=0.7)",
        "codebook([-1,-0.6,-0.3,-0.1,0.2,0.4,0.7,1],scale=absmax,block=64)"}) {
    const Format format = parse_format(text);
    const Shape shape{2, 6144};
    const auto count = static_cast<std::size_t>(shape.elements());
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(static_cast<std::int32_t>(draw32({.seed = 4}, i))) * 0x1p-30F;
    }
    const std::vector<std::uint8_t> input = bytes_as(DType::f32, values);
    const Encoded encoded = encode(view_as(DType::f32, input, shape), format);
    const std::span<const float> scales = encoded.scales.as<float>();
    const std::size_t block = count / scales.size();
    // Elements that are not their block's largest move to ties, and to their neighbours.
    const int last = (1 << describe(format.element).code_bits) / 2 - 2;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 16 == 0 || std::fabs(values[i]) > 1.5F) continue;
      const auto code =
          static_cast<std::uint32_t>(draw32({.seed = 5}, i) % static_cast<std::uint32_t>(last));
      const double tie =
          (decode_code(format.element, code) + decode_code(format.element, code + 1)) / 2;
      const auto x = static_cast<float>(tie * static_cast<double>(scales[i / block]) *
                                        static_cast<double>(encoded.tensor_scale));
      if (std::fabs(x) > 1.5F) continue;
      values[i] = i % 3 == 0 ? x : std::nextafter(x, i % 3 == 1 ? 9.0F : -9.0F);
    }
    for (const bool packed : {false, true}) {
      check_encode(values, shape, format, {.rounding = {}, .packed = packed});
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
