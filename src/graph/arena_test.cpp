// SPDX-License-Identifier: Apache-2.0
#include "graph/arena.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace nibble {
namespace {

bool lives_beside(const ArenaItem& a, const ArenaItem& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool overlaps(const ArenaItem& a, const ArenaItem& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The bytes of all that live at one step, whichever it is.
std::size_t largest_crowd(const std::vector<ArenaItem>& items) {
  std::size_t largest = 0;
  for (std::size_t step = 0; step < 64; ++step) {
    std::size_t bytes = 0;
    for (const ArenaItem& item : items) {
      if (item.first <= step && step <= item.last) bytes += item.bytes;
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

std::vector<ArenaItem> any_items() {
  const auto count = *rc::gen::inRange<std::size_t>(0, 40);
  std::vector<ArenaItem> items;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, 30));
    const auto length = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, 12));
    const auto bytes = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, 1000));
    items.push_back({.bytes = bytes, .first = first, .last = first + length});
  }
  return items;
}

RC_GTEST_PROP(Arena, KeepsWhatLivesAtOneTimeApart, ()) {
  std::vector<ArenaItem> items = any_items();
  const std::size_t size = plan_arena(items, 64);
  RC_ASSERT(size % 64 == 0);
  RC_ASSERT(size >= largest_crowd(items));
  for (std::size_t i = 0; i < items.size(); ++i) {
    RC_ASSERT(items[i].offset % 64 == 0);
    RC_ASSERT(items[i].offset + items[i].bytes <= size);
    for (std::size_t k = i + 1; k < items.size(); ++k) {
      RC_ASSERT(!(lives_beside(items[i], items[k]) && overlaps(items[i], items[k])));
    }
  }
}

RC_GTEST_PROP(Arena, IsNoLargerThanAllItemsSideBySide, ()) {
  std::vector<ArenaItem> items = any_items();
  std::size_t all = 0;
  for (const ArenaItem& item : items) all += (item.bytes + 63) / 64 * 64;
  RC_ASSERT(plan_arena(items, 64) <= all);
}

TEST(Arena, UsesTheSameMemoryAgain) {
  std::vector<ArenaItem> chain;
  for (std::size_t i = 0; i < 10; ++i) chain.push_back({.bytes = 640, .first = i, .last = i + 1});
  EXPECT_EQ(plan_arena(chain, 64), 1280U);
}

TEST(Arena, FillsAGapBetweenTwo) {
  std::vector<ArenaItem> items = {{.bytes = 640, .first = 0, .last = 3},
                                  {.bytes = 320, .first = 0, .last = 0},
                                  {.bytes = 192, .first = 0, .last = 3},
                                  {.bytes = 256, .first = 1, .last = 3}};
  EXPECT_EQ(plan_arena(items, 64), 1152U);
  EXPECT_EQ(items[3].offset, 640U);
}

TEST(Arena, OfNothingIsEmpty) {
  std::vector<ArenaItem> none;
  EXPECT_EQ(plan_arena(none, 64), 0U);
}

}  // namespace
}  // namespace nibble
