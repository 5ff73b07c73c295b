// SPDX-License-Identifier: Apache-2.0
// Tests of files as integers.
#include "inference/example_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/test_support.h"
#include "data/harness_tensor.h"
#include "inference/harness_test_support.h"
#include "nibble/core/npy.h"

namespace nibble::inline inference {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class ExampleFiles : public ::testing::Test {
 protected:
  ExampleReader reader(const std::string& format = "int8(scale=0.5)") const {
    Model model = channel_sums(true, format);
    const Network network = model.network;
    return {network, Engine(std::move(model)).input()};
  }

  std::vector<int> read(const ExampleReader& reader, const Tensor& array) const {
    write_npy(folder_.path() / "x.npy", array.view());
    return read(reader, folder_.path() / "x.npy");
  }
  std::vector<int> read(const ExampleReader& reader, const std::filesystem::path& path) const {
    std::vector<std::byte> integers;
    const std::int64_t count = reader.read(path, integers);
    EXPECT_EQ(integers.size(), static_cast<std::size_t>(count * 12));
    std::vector<int> result;
    for (const std::byte each : integers) {
      result.push_back(reader.info().dtype == DType::u8 ? std::to_integer<int>(each)
                                                        : static_cast<std::int8_t>(each));
    }
    return result;
  }
  std::string error(const Tensor& array) const {
    return error_of([&] { read(reader(), array); });
  }

  template <class Number>
  static Tensor counted(const Shape& shape) {
    Tensor tensor(DTypeOf<Number>::value, shape);
    std::iota(tensor.as<Number>().begin(), tensor.as<Number>().end(), Number{0});
    return tensor;
  }

  TemporaryFolder folder_;
};

TEST_F(ExampleFiles, IntegersOfAnyWidthAreTakenAsTheyAre) {
  std::vector<int> wanted(24);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_THAT(read(reader(), counted<std::int8_t>({2, 2, 2, 3})), ElementsAreArray(wanted));
  EXPECT_THAT(read(reader(), counted<std::int64_t>({2, 2, 2, 3})), ElementsAreArray(wanted));
  wanted.resize(12);
  EXPECT_THAT(read(reader(), counted<std::int8_t>({2, 2, 3})), ElementsAreArray(wanted));
  EXPECT_THAT(read(reader("uint8(scale=0.5)"), counted<std::uint8_t>({2, 2, 3})),
              ElementsAreArray(wanted));
  EXPECT_TRUE(read(reader(), counted<std::int8_t>({0, 2, 2, 3})).empty());
}

TEST_F(ExampleFiles, ChannelsFirstWhereOnlyThatFits) {
  EXPECT_THAT(read(reader(), counted<std::int8_t>({3, 2, 2})),
              ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  const std::vector<int> two = read(reader(), counted<std::int16_t>({2, 3, 2, 2}));
  ASSERT_EQ(two.size(), 24U);
  EXPECT_EQ(two[1], 4);
  EXPECT_EQ(two[13], 16);
}

TEST_F(ExampleFiles, TensorsOfTheHarnessAreBytesByChannel) {
  const Tensor picture = counted<std::int8_t>({2, 2, 3});
  write_harness_tensor(folder_.path() / "x.npy", picture.view());
  EXPECT_THAT(read(reader(), folder_.path() / "x.npy"),
              ElementsAreArray(picture.as<std::int8_t>()));
}

// Integers are values, what enters is value + zero; tensors of the harness are what enters.
TEST_F(ExampleFiles, BytesWithAZeroPointEnterAsTheyAre) {
  const ExampleReader odd = reader("uint8(scale=0.5,zero=100)");
  ASSERT_EQ(odd.info().dtype, DType::u8);
  std::vector<int> wanted(12);
  std::iota(wanted.begin(), wanted.end(), 100);
  EXPECT_THAT(read(odd, counted<std::int16_t>({2, 2, 3})), ElementsAreArray(wanted));
  const Tensor picture = counted<std::uint8_t>({2, 2, 3});
  write_harness_tensor(folder_.path() / "x.npy", picture.view());
  EXPECT_THAT(read(odd, folder_.path() / "x.npy"), ElementsAreArray(picture.as<std::uint8_t>()));
  EXPECT_THAT(read(odd, picture).front(), 100);  // a byte of a picture, 0 less a mean of 0
}

// Bytes: (byte / 255 - mean) / 0.5 in halves, so 4·(byte / 255 - (0, 1/2, 1)).
TEST_F(ExampleFiles, BytesAreNormalizedAndRealsAreRounded) {
  const Tensor bytes =
      tensor_of<std::uint8_t>({2, 2, 3}, {255, 255, 255, 0, 0, 0, 100, 100, 100, 31, 32, 33});
  EXPECT_THAT(read(reader(), bytes), ElementsAre(4, 2, 0, 0, -2, -4, 2, 0, -2, 0, -1, -3));
  const Tensor reals = tensor_of<float>(
      {2, 2, 3}, {0.25F, 0.75F, -0.25F, 1, -1, 1e9F, -1e9F, 0.3F, 0, 63.5F, -64, 0.26F});
  EXPECT_THAT(read(reader(), reals), ElementsAre(0, 2, 0, 2, -2, 127, -128, 1, 0, 127, -128, 1));
}

TEST_F(ExampleFiles, OtherArraysAreRefused) {
  EXPECT_THAT(error(counted<std::int8_t>({2, 3, 2})),
              HasSubstr("shape: got (2, 3, 2), expected (2, 2, 3)"));
  EXPECT_THAT(error(counted<std::int8_t>({12})), HasSubstr("shape"));
  EXPECT_THAT(error(Tensor(DType::f64, {2, 2, 3})),
              HasSubstr("type: got f64, expected f32 or integers"));
  Tensor large = counted<std::int16_t>({2, 2, 3});
  large.as<std::int16_t>()[5] = 128;
  EXPECT_THAT(error(large),
              HasSubstr("integer: got 128, expected -128 to 127, what the network takes"));
  folder_.put("x.jpg", "no picture");
  EXPECT_THAT(error_of([&] { read(reader(), folder_.path() / "x.jpg"); }), HasSubstr("x.jpg"));
  EXPECT_THAT(error_of([&] { read(reader(), folder_.path() / "none"); }), HasSubstr("none"));
}

}  // namespace
}  // namespace nibble::inline inference
