// SPDX-License-Identifier: Apache-2.0
// Tests of the names of operations.
#include "nibble/graph/op.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/op_fields.h"

namespace nibble::inline graph {
namespace {

TEST(Op, EveryNameLeadsBackToItsOperation) {
  std::set<std::string_view> names;
  for (const std::string_view name : {"input",         "conv2d",        "linear",
                                      "bias",          "relu",          "relu6",
                                      "max_pool",      "average_pool",  "global_average_pool",
                                      "batch_norm",    "add",           "concat",
                                      "slice",         "pad",           "flatten",
                                      "fake_quantize", "dropout",       "softmax_cross_entropy",
                                      "squared_error", "rescale",       "sum_pool",
                                      "table",         "softmax_table", "arg_max"}) {
    const std::optional<Op> op = op_of(name);
    ASSERT_TRUE(op) << name;
    EXPECT_EQ(name_of(*op), name);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), std::variant_size_v<Op>);
  EXPECT_FALSE(op_of("attention"));
}

TEST(Op, AFreshOneHasItsUsualNumbers) {
  EXPECT_EQ(op_of("conv2d"), Op(Conv2d{}));
  EXPECT_TRUE(is_loss(*op_of("squared_error")));
  EXPECT_TRUE(is_loss(*op_of("softmax_cross_entropy")));
  EXPECT_FALSE(is_loss(*op_of("linear")));
}

TEST(Op, FieldsAreVisitedInTheOrderOfTheText) {
  std::string keys;
  Conv2d conv;
  visit_fields(conv, [&](std::string_view key, auto&) { keys.append(key).append(" "); });
  EXPECT_EQ(keys, "channels kernel stride padding dilation groups bias weight_steps ");
}

}  // namespace
}  // namespace nibble::inline graph
