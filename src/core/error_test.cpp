// SPDX-License-Identifier: Apache-2.0
// Tests of the text of errors and of their kinds.
#include "nibble/core/error.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/test_support.h"
#include "nibble/core/limits.h"
#include "nibble/core/npy.h"
#include "nibble/core/shape.h"

namespace nibble::inline core {
namespace {

TEST(Error, SaysWhereWhatGotAndExpected) {
  EXPECT_STREQ(Error("pack", "rank", "3", "2").what(), "[pack] rank: got 3, expected 2");
}

TEST(Error, SaysWhereAndWhatWhenNothingIsCompared) {
  EXPECT_STREQ(Error("pack", "out of memory").what(), "[pack] out of memory");
}

TEST(Error, GivesItsReasonToStandInsideAnother) {
  EXPECT_EQ(Error("pack", "rank", "[3]", "[2] or 1").reason(), "rank: got [3], expected [2] or 1");
  EXPECT_EQ(Error("a text of its own").reason(), "a text of its own");
}

TEST(Error, IsOfItsKind) {
  EXPECT_EQ(Error("pack", "rank", "3", "2").kind(), ErrorKind::usage);
  EXPECT_EQ(Error("read", "no such file", ErrorKind::system).kind(), ErrorKind::system);
  EXPECT_EQ(Error("read", "size", "3", "2", ErrorKind::limit).kind(), ErrorKind::limit);
}

TEST(Error, OfUsageIsOneOfInputWhereAFileSaysIt) {
  EXPECT_EQ(input_kind(Error("shape", "extent")), ErrorKind::input);
  EXPECT_EQ(input_kind(Error("shape", "extent", ErrorKind::limit)), ErrorKind::limit);
}

TEST(Error, KindsAreTheCausesWhateverTheTextsSay) {
  EXPECT_EQ(error_kind_of([] { const Shape negative{-1}; }), ErrorKind::usage);
  EXPECT_EQ(error_kind_of([] { (void)read_npy("no such folder/x.npy"); }), ErrorKind::system);
  std::istringstream broken("no array");
  EXPECT_EQ(error_kind_of([&] { (void)read_npy(broken, "x.npy"); }), ErrorKind::input);
  EXPECT_EQ(error_kind_of([] { check_limit("nodes", std::int64_t{1} << 60, "read", "nodes"); }),
            ErrorKind::limit);
}

}  // namespace
}  // namespace nibble::inline core
