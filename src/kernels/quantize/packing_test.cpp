// SPDX-License-Identifier: Apache-2.0
// Packed codes: least significant bit first, any width, nothing lost and nothing guessed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/core/philox.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {
namespace {

using testing::ElementsAre;

template <class Code>
std::vector<std::uint8_t> packed(const std::vector<Code>& codes, int bits) {
  return pack_codes(view_of(std::span<const Code>(codes)), bits);
}

TEST(Packing, TwoInt4ShareAByteTheFirstInTheLowHalf) {
  EXPECT_THAT(packed<std::uint8_t>({0x1, 0xF, 0x3}, 4), ElementsAre(0xF1, 0x03));
}

TEST(Packing, FourCodesOfSixBitsFillThreeBytes) {
  EXPECT_THAT(packed<std::uint8_t>({1, 2, 3, 4}, 6), ElementsAre(0x81, 0x30, 0x10));
}

TEST(Packing, ThirtyTwoBitsAreLittleEndian) {
  EXPECT_THAT(packed<std::uint32_t>({0x12345678, 0xFFFFFFFE}, 32),
              ElementsAre(0x78, 0x56, 0x34, 0x12, 0xFE, 0xFF, 0xFF, 0xFF));
}

TEST(Packing, EveryWidthComesBack) {
  for (int bits = 1; bits <= 32; ++bits) {
    for (const std::int64_t count : {0, 1, 7, 8, 33}) {
      std::vector<std::uint32_t> codes(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < codes.size(); ++i)
        codes[i] = draw32({.seed = 2}, i) >> (32 - bits);
      const std::vector<std::uint8_t> bytes = packed(codes, bits);
      EXPECT_EQ(bytes.size(), (codes.size() * static_cast<std::size_t>(bits) + 7) / 8);
      const Tensor back = unpack_codes(bytes, bits, {count});
      EXPECT_EQ(back.dtype(), bits <= 8 ? DType::u8 : bits <= 16 ? DType::u16 : DType::u32);
      EXPECT_EQ(pack_codes(back.view(), bits), bytes) << bits << " bits";
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const std::uint32_t code = bits <= 8    ? back.as<std::uint8_t>()[i]
                                   : bits <= 16 ? back.as<std::uint16_t>()[i]
                                                : back.as<std::uint32_t>()[i];
        ASSERT_EQ(code, codes[i]) << bits << " bits";
      }
    }
  }
}

TEST(Packing, RefusesCodesThatAreTooWide) {
  EXPECT_THROW(packed<std::uint8_t>({1, 16}, 4), Error);
  EXPECT_NO_THROW(packed<std::uint8_t>({1, 15}, 4));
  const std::vector<float> floats = {1};
  EXPECT_THROW(pack_codes(view_of(std::span<const float>(floats)), 8), Error);
}

TEST(Packing, RefusesWidthsThatNoCodeHas) {
  for (const int bits : {-1, 0, 33}) {
    EXPECT_THROW(packed<std::uint32_t>({0}, bits), Error) << bits;
    EXPECT_THROW(unpack_codes({0, 0, 0, 0}, bits, {1}), Error) << bits;
  }
}

TEST(Unpacking, RefusesAnyOtherNumberOfBytes) {
  EXPECT_THROW(unpack_codes({1, 2}, 4, {5}), Error);
  EXPECT_THROW(unpack_codes({1, 2, 3, 4}, 4, {5}), Error);
  EXPECT_NO_THROW(unpack_codes({1, 2, 3}, 4, {5}));
}

}  // namespace
}  // namespace nibble::inline kernels
