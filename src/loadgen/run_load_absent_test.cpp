// SPDX-License-Identifier: Apache-2.0
// Tests of what a build without LoadGen says, in every build.
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "loadgen/run_load.h"
#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

TEST(BuildsWithoutLoadGen, SayHowToHaveIt) {
  EXPECT_FALSE(has_loadgen());
  EXPECT_EQ(
      error_of([] { run_load({}); }),
      "[loadgen] this build has no LoadGen: tools/setup loads it, -D NIBBLE_LOADGEN=DIR names "
      "another");
  try {
    run_load({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
  }
}

}  // namespace
}  // namespace nibble::inline loadgen
