// SPDX-License-Identifier: Apache-2.0
// Tests of what a progress bar and a progress line say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include "nibble/run_folder/progress.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::array<ProgressValue, 2> kValues{ProgressValue{"loss", 0.25},
                                               ProgressValue{"top1", 0.875}};

ProgressView half_way() {
  return {.label = "epoch 3/10", .done = 500, .total = 1000, .seconds = 5, .values = kValues};
}

std::ptrdiff_t columns_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TEST(ProgressBar, ShowsEverythingWhereThereIsRoom) {
  EXPECT_EQ(
      bar_text(half_way(), {.width = 100}),
      "epoch 3/10 [###############...............] 500/1000  5 s left  loss 0.25  top1 0.875  "
      "100 images/s");
}

TEST(ProgressBar, HasBlocksAndColor) {
  ProgressView view = half_way();
  view.done = 510;  // 15.3 of 30 columns
  const std::string text = bar_text(view, {.width = 120, .has_blocks = true, .has_color = true});
  EXPECT_THAT(text, HasSubstr("▕\x1b[32m███████████████▎\x1b[0m              ▏"));
}

TEST(ProgressBar, LeavesOutTheLastFirst) {
  EXPECT_EQ(bar_text(half_way(), {.width = 50}),
            "epoch 3/10 [########.........] 500/1000  5 s left");
  EXPECT_EQ(bar_text(half_way(), {.width = 22}), "epoch 3/10 500/1000");
  EXPECT_EQ(bar_text(half_way(), {.width = 12}), "epoch 3/10");
  EXPECT_EQ(bar_text(half_way(), {.width = 5}), "epoch");
}

RC_GTEST_PROP(ProgressBar, NeverIsWiderThanItsWidth, (bool has_blocks)) {
  const int width = *rc::gen::inRange(0, 200);
  const ProgressView view{.label = "époque",
                          .done = *rc::gen::inRange(0, 2000),
                          .total = *rc::gen::inRange(0, 1000),
                          .seconds = *rc::gen::inRange(0, 100000) / 7.0,
                          .values = kValues};
  RC_ASSERT(columns_of(bar_text(view, {.width = width, .has_blocks = has_blocks})) <= width);
}

TEST(ProgressBar, WithoutATotalCounts) {
  ProgressView view = half_way();
  view.total = 0;
  EXPECT_EQ(bar_text(view, {.width = 100}), "epoch 3/10 500  loss 0.25  top1 0.875  100 images/s");
}

TEST(ProgressBar, AtBothEndsSaysNothingOfTheRest) {
  ProgressView view = half_way();
  view.done = 0;
  EXPECT_THAT(bar_text(view, {.width = 120}), Not(HasSubstr("left")));
  EXPECT_THAT(bar_text(view, {.width = 120}), Not(HasSubstr("images/s")));
  view.done = 1000;
  EXPECT_THAT(bar_text(view, {.width = 120}), Not(HasSubstr("left")));
}

TEST(ProgressLine, SaysTheSameInWords) {
  EXPECT_EQ(line_text(half_way()),
            "epoch 3/10: 500/1000, 5 s left, loss 0.25, top1 0.875, 100 images/s");
}

TEST(Duration, IsShort) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(65), "1:05");
  EXPECT_EQ(duration_text(7384), "2:03:04");
  EXPECT_EQ(duration_text(3 * 86400 + 4 * 3600), "3 d 4 h");
  EXPECT_EQ(duration_text(-1), "?");
  EXPECT_EQ(duration_text(1e300), "?");
}

}  // namespace
}  // namespace nibble::inline run_folder
