// SPDX-License-Identifier: Apache-2.0
#include "graph/arena.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

#include "nibble/core/error.h"

namespace nibble::inline graph {
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

// Largest first, each at the lowest place that is free, found by a look at all the others.
std::vector<std::size_t> naive_offsets(std::vector<ArenaItem> items) {
  std::vector<ArenaItem*> order;
  for (ArenaItem& item : items) order.push_back(&item);
  std::ranges::stable_sort(order, std::greater<>(), &ArenaItem::bytes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto is_free = [&](std::size_t offset) {
      order[i]->offset = offset;
      return std::none_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i),
                          [&](const ArenaItem* other) {
                            return lives_beside(*other, *order[i]) && overlaps(*other, *order[i]);
                          });
    };
    for (std::size_t offset = 0; !is_free(offset);) offset += 64;
  }
  std::vector<std::size_t> offsets;
  for (const ArenaItem& item : items) offsets.push_back(item.offset);
  return offsets;
}

RC_GTEST_PROP(Arena, GivesEachTheLowestPlace, ()) {
  std::vector<ArenaItem> items = any_items();
  for (ArenaItem& item : items) ++item.bytes;  // where nothing is, every place is free
  (void)plan_arena(items, 64);
  std::vector<std::size_t> offsets;
  for (const ArenaItem& item : items) offsets.push_back(item.offset);
  RC_ASSERT(offsets == naive_offsets(items));
}

// Milliseconds; a look at all pairs takes ten seconds.
TEST(Arena, OfManyIsPlannedAtOnce) {
  std::vector<ArenaItem> chain;
  for (std::size_t i = 0; i < 65536; ++i)
    chain.push_back({.bytes = 64 * (1 + i % 2), .first = i, .last = i + 1});
  EXPECT_EQ(plan_arena(chain, 64), 192U);
  for (ArenaItem& item : chain) item.last = chain.size();
  EXPECT_EQ(plan_arena(chain, 64), 96U * chain.size());
}

TEST(Arena, BeyondAllMemoryIsRefused) {
  std::vector<ArenaItem> items(3, {.bytes = SIZE_MAX / 2});
  EXPECT_THROW(plan_arena(items, 64), Error);
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
}  // namespace nibble::inline graph
