// SPDX-License-Identifier: Apache-2.0
// A build without libonnx.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "nibble/foreign/onnx.h"

namespace nibble::inline foreign {
namespace {

TEST(OnnxAbsent, FilesAreRefusedInOneLine) {
  EXPECT_FALSE(can_read_onnx());
  EXPECT_EQ(error_of([] { (void)read_onnx("a.onnx"); }),
            "[read_onnx] a.onnx: this build has no libonnx");
}

}  // namespace
}  // namespace nibble::inline foreign
