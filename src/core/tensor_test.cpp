// SPDX-License-Identifier: Apache-2.0
// Tests of tensors and their views.
#include "nibble/core/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/test_support.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

TEST(Tensor, DataIsAlignedTo64Bytes) {
  for (std::int64_t n = 0; n < 70; ++n) {
    const Tensor tensor(DType::u8, Shape{n});
    ASSERT_NE(tensor.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  }
}

TEST(Tensor, BytesAreElementsTimesTheirSize) {
  EXPECT_EQ(Tensor(DType::bf16, Shape{3, 5}).bytes(), 30u);
  EXPECT_EQ(Tensor(DType::f64, Shape{}).bytes(), 8u);
}

TEST(Tensor, ADefaultTensorIsEmpty) {
  const Tensor tensor;
  EXPECT_EQ(tensor.elements(), 0);
  EXPECT_EQ(tensor.data(), nullptr);
}

TEST(Tensor, WithoutMemoryForItIsAnErrorOfThatKind) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers take more memory than a limit leaves";
  const AddressSpaceLimit limit(100 << 20);
  EXPECT_EQ(error_kind_of([] { const Tensor tensor(DType::u8, Shape{200 << 20}); }),
            ErrorKind::memory);
}

TEST(Tensor, WritesThroughAViewAreSeenByTheOwner) {
  Tensor tensor(DType::f32, Shape{4});
  for (float& x : tensor.view().as<float>()) x = 2.0f;
  const Tensor& constant = tensor;
  for (const float x : constant.as<float>()) EXPECT_EQ(x, 2.0f);
}

TEST(Tensor, AskingForAnotherElementTypeNamesBoth) {
  Tensor tensor(DType::f32, Shape{4});
  try {
    tensor.as<std::int8_t>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[tensor] element type: got f32, expected i8");
  }
}

TEST(Tensor, OnlyTheCpuAllocatesHere) {
  EXPECT_THROW(Tensor(DType::f32, Shape{1}, {Device::Kind::cuda, 0}), Error);
}

TEST(TensorView, BorrowsTheMemoryOfASpan) {
  std::vector<std::int32_t> values{1, 2, 3};
  const TensorView view = view_of(std::span(values));
  view.as<std::int32_t>()[1] = 7;
  EXPECT_EQ(values[1], 7);
  const ConstTensorView constant = view;
  EXPECT_EQ(constant.as<std::int32_t>()[1], 7);
  EXPECT_EQ(view_of(std::span<const std::int32_t>(values)).shape(), Shape{3});
}

}  // namespace
}  // namespace nibble::inline core
