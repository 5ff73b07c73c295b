// SPDX-License-Identifier: Apache-2.0
// A build without oneDNN.
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "nibble/float_training/forward.h"
#include "nibble/float_training/train.h"

namespace nibble::inline float_training {
namespace {

TEST(TrainAbsent, FloatsAreRefusedInOneLine) {
  EXPECT_EQ(error_of([] { (void)train({}, {}); }),
            "[train] float training: this build has no oneDNN; --arith int8 needs none");
  Model model;
  model.network.name = "net";
  EXPECT_EQ(error_of([&] { (void)evaluate(model, {}); }),
            "[eval] float network net: this build has no oneDNN");
  EXPECT_EQ(error_of([&] { const FloatForward forward(model); }),
            "[forward] float network net: this build has no oneDNN");
}

}  // namespace
}  // namespace nibble::inline float_training
