// SPDX-License-Identifier: Apache-2.0
// Walks the table of operations: what it says is there runs as defined, what is not is refused by
// name.
#include "graph/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/test_support.h"
#include "nibble/core/parallel.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OperationTable : public ::testing::Test {
 protected:
  OperationTable() { set_thread_count(2); }
  ~OperationTable() override { set_thread_count(0); }

  // name_in_error(op): what a refusal has to say.
  template <class NameInError>
  static void walk(Capability capability, void (*try_it)(const OperationCase&),
                   const NameInError& name_in_error) {
    for (const OperationCase& each : operation_cases()) {
      SCOPED_TRACE(::testing::Message() << name_of(each.op) << ", " << name_of(capability));
      const std::string error = error_of([&] { try_it(each); });
      if (support_of(each.op, capability).is_there) {
        EXPECT_EQ(error, "no error");
      } else {
        EXPECT_THAT(error, HasSubstr(std::string(name_in_error(each.op))));
        EXPECT_THAT(error, Not(HasSubstr("\n")));
      }
    }
  }
  static void walk(Capability capability, void (*try_it)(const OperationCase&)) {
    walk(capability, try_it, [](const Op& op) { return name_of(op); });
  }
};

TEST_F(OperationTable, IsTrueOfFloatTraining) {
  walk(Capability::float_training, try_float_training);
}
TEST_F(OperationTable, IsTrueOfIntegerTraining) {
  walk(Capability::integer_training, try_integer_training);
}
TEST_F(OperationTable, IsTrueOfTheEngine) {
  walk(Capability::engine, try_engine);
}
TEST_F(OperationTable, IsTrueOfEmittedC) {
  walk(Capability::emit, try_emit);
}
TEST_F(OperationTable, IsTrueOfEmittedTraining) {
  walk(Capability::emit_training, try_emit_training);
}
TEST_F(OperationTable, IsTrueOfOnnxIn) {
  walk(Capability::onnx_in, try_onnx_in, onnx_name_of);
}
TEST_F(OperationTable, IsTrueOfOnnxOut) {
  walk(Capability::onnx_out, try_onnx_out);
}
TEST_F(OperationTable, IsTrueOfQuantization) {
  walk(Capability::quantize, try_quantize);
}

}  // namespace
}  // namespace nibble
