// SPDX-License-Identifier: Apache-2.0
// Tests of the element types.
#include "nibble/core/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace nibble::inline core {
namespace {

TEST(DType, NamesAreDistinctAndTellTheSize) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(DType::u64); ++i) {
    const auto type = static_cast<DType>(i);
    const std::string name(name_of(type));
    names.insert(name);
    EXPECT_EQ(std::stoul(name.substr(name.find_first_of("0123456789"))), 8 * size_of(type)) << name;
  }
  EXPECT_EQ(names.size(), 12u);
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(size_of(DTypeOf<float>::value), sizeof(float));
  EXPECT_EQ(size_of(DTypeOf<double>::value), sizeof(double));
  EXPECT_EQ(size_of(DTypeOf<std::int8_t>::value), 1u);
  EXPECT_EQ(size_of(DTypeOf<std::uint16_t>::value), 2u);
  EXPECT_EQ(size_of(DTypeOf<std::int32_t>::value), 4u);
  EXPECT_EQ(size_of(DTypeOf<std::uint64_t>::value), 8u);
}

}  // namespace
}  // namespace nibble::inline core
