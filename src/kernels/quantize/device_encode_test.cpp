// SPDX-License-Identifier: Apache-2.0
// encode and decode on a GPU equal those of the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "kernels/quantize/device_test_support.h"
#include "kernels/quantize/test_formats.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"

namespace nibble {
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

class DeviceCodes : public testing::TestWithParam<std::string> {
 protected:
  void check(const Shape& shape, const Rounding& rounding, bool packed) {
    const Format format = parse_format(GetParam());
    const QuantizeOptions options{.rounding = rounding, .random = {.seed = 3}};
    std::vector<float> values = mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    const bool has_nan = describe(format.element).has_nan;
    for (float& x : values) {
      if (std::isnan(x) && !has_nan) x = 1;
    }
    const std::vector<std::uint8_t> input = bytes_as(DType::f32, values);
    Encoded expected;
    try {
      expected = encode(view_as(DType::f32, input, shape), format, options);
    } catch (const Error&) {
      return;  // no meaning here: the CPU's tests say which
    }
    const std::string what = GetParam() + " " + to_string(rounding) + " " + shape.to_string() +
                             (packed ? " packed" : "");
    const DeviceEncodedSizes sizes = device_encoded_sizes(shape, format, packed);
    const auto groups = static_cast<std::size_t>(sizes.has_scales ? sizes.scales.elements() : 0);
    cuda::TestMemory<std::uint8_t> from(std::span<const std::uint8_t>{input});
    cuda::TestMemory<std::uint8_t> codes(sizes.code_bytes);
    cuda::TestMemory<float> scales(groups);
    cuda::TestMemory<std::int32_t> zeros(groups);
    cuda::TestMemory<float> tensor_scale(1);
    cuda::TestMemory<std::uint8_t> workspace(
        device_encode_workspace(shape, format, packed, options));
    const DeviceEncoded encoded{{codes.data(), sizes.code_type},
                                packed,
                                sizes.has_scales ? scales.data() : nullptr,
                                sizes.has_zeros ? zeros.data() : nullptr,
                                sizes.has_tensor_scale ? tensor_scale.data() : nullptr};
    device_encode({from.data(), DType::f32}, encoded, shape, format, options, workspace.data(), {});
    const int bits = describe(format.element).code_bits;
    EXPECT_EQ(codes.get(), packed ? pack_codes(std::as_const(expected.codes).view(), bits)
                                  : raw_bytes(expected.codes))
        << what;
    if (sizes.has_scales) {
      EXPECT_EQ(scales.get(), values_of<float>(expected.scales)) << what;
    }
    if (sizes.has_zeros) {
      EXPECT_EQ(zeros.get(), values_of<std::int32_t>(expected.zeros)) << what;
    }
    if (sizes.has_tensor_scale) {
      EXPECT_EQ(tensor_scale.get()[0], expected.tensor_scale) << what;
    }

    const Tensor decoded = decode(expected, format);
    cuda::TestMemory<std::uint8_t> to(decoded.bytes());
    cuda::TestMemory<std::uint8_t> decode_space(device_decode_workspace(shape, format, packed));
    device_decode(encoded, {to.data(), decoded.dtype()}, shape, format, decode_space.data(), {});
    EXPECT_EQ(to.get(), raw_bytes(decoded)) << what << " decoded";
  }
};

TEST_P(DeviceCodes, AreTheCpus) {
  for (const Rounding& rounding :
       {Rounding{}, Rounding{RoundingMode::up}, Rounding{RoundingMode::stochastic, 16}}) {
    check({6, 331}, rounding, false);
    check({4, 256}, rounding, false);
  }
  for (const bool packed : {false, true}) check({3, 87}, {}, packed);
  check({4, 256}, {}, true);
  check({0}, {}, false);
}

INSTANTIATE_TEST_SUITE_P(DeviceEncode, DeviceCodes, testing::ValuesIn(formats_under_test()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + std::to_string(test.index);
                         });

}  // namespace
}  // namespace nibble
