// SPDX-License-Identifier: Apache-2.0
// The device that pretends gives what a device must: the tests of a GPU are the same.
#include "float_training/float_device_test_support.h"

namespace nibble::inline float_training {
namespace {

TEST(PretendFloatDevice, ProductsOfIntegersAreExactInEveryTypeOverEveryWire) {
  const auto device = make_pretend_float_device();
  for (const ProductType type : kTypes) {
    for (const WireFormat wire : kWires) {
      expect_exact_products(*device, convolution_by_chance(3), type, wire);
      expect_exact_products(*device, linear(20, 7, 3), type, wire);
    }
  }
}

TEST(PretendFloatDevice, WhatIsNotFiniteIsNotHidden) {
  expect_infinities_seen(*make_pretend_float_device());
}

TEST(PretendFloatDevice, RoundsOperandsToTheType) {
  const auto device = make_pretend_float_device();
  const ProductCase layer = linear(40, 9, 4);
  const ProductNumbers numbers = numbers_for(layer, 0);
  const auto off = [&](ProductType type) {
    return share_off(on_device(*device, layer, numbers, type, WireFormat::fp32).output,
                     on_cpu(layer, numbers, ProductType::fp32, WireFormat::fp32).output);
  };
  EXPECT_EQ(off(ProductType::fp32), 0);
  EXPECT_GT(off(ProductType::tf32), 1e-6);
  EXPECT_LT(off(ProductType::tf32), 1e-3);
  EXPECT_GT(off(ProductType::bf16), off(ProductType::tf32));
  EXPECT_LT(off(ProductType::bf16), 1e-2);
}

}  // namespace
}  // namespace nibble::inline float_training
