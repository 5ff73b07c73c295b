// SPDX-License-Identifier: Apache-2.0
// The shape of the table; tests/operations tries what it says.
#include "graph/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nibble::inline graph {
namespace {

using ::testing::HasSubstr;

TEST(OperationTable, HasEveryOperationByItsName) {
  ASSERT_EQ(operation_table().size(), std::variant_size_v<Op>);
  EXPECT_EQ(operation_table()[Op(Conv2d{}).index()].operation, "conv2d");
  EXPECT_TRUE(support_of(Conv2d{}, Capability::engine).is_there);
  EXPECT_FALSE(support_of(BatchNorm{}, Capability::emit_training).is_there);
  EXPECT_TRUE(support_of(BatchNorm{}, Capability::quantize).is_there);
}

TEST(OperationTable, IsShownWithItsWords) {
  EXPECT_THAT(
      operation_table_text(),
      HasSubstr("\nconcat                 no    emit --train: it has no emitted layer yet\n"));
  EXPECT_THAT(operation_table_page(),
              HasSubstr("\n| `relu6` | yes | yes | yes\\* | yes\\* | yes |"));
  EXPECT_THAT(operation_table_page(), HasSubstr("\n| emit --train | `nibble emit --train` |\n"));
}

}  // namespace
}  // namespace nibble::inline graph
