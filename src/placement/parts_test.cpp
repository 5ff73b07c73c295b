// SPDX-License-Identifier: Apache-2.0
#include "placement/parts.h"

#include "placement/cut.h"
#include "placement/placement_test_support.h"

namespace nibble::inline placement {
namespace {

TEST(Parts, FitAndHaveAllThatHasRoom) {
  Draws draws(3);
  int several = 0;
  for (int round = 0; round < 50; ++round) {
    StepGraph graph = random_graph(12, draws);
    for (std::size_t i = 0; i < graph.units.size(); ++i)
      graph.units[i].is_fixed = graph.group[i] % 5 == 4;
    const std::int64_t most = draws.in(500, 20000);
    const std::vector<Sides> parts = parts_within(graph, most);
    if (parts.size() > 1) ++several;
    for (const Sides& part : parts) {
      EXPECT_LE(memory_of_second(graph, part), most);
      EXPECT_TRUE(keeps_groups(graph, part));
    }
    for (std::size_t i = 0; i < graph.units.size(); ++i) {
      Sides alone = all_on(graph, 0);
      bool is_fixed = false;
      for (std::size_t j = 0; j < alone.size(); ++j) {
        alone[j] = graph.group[j] == graph.group[i] ? 1 : 0;
        is_fixed = is_fixed || (alone[j] == 1 && graph.units[j].is_fixed);
      }
      // What takes too much by itself may fit beside what it reads.
      const bool has_part = part_with(parts, i) >= 0;
      if (is_fixed) {
        EXPECT_FALSE(has_part) << i;
      } else if (fits_within(graph, alone, most)) {
        EXPECT_TRUE(has_part) << i;
      }
    }
    for (std::uint32_t number = 0; number < 9; ++number) {
      const Sides sides = sides_by_chance_within(graph, number, parts, most);
      EXPECT_LE(memory_of_second(graph, sides), most);
      EXPECT_TRUE(keeps_groups(graph, sides));
    }
  }
  EXPECT_GT(several, 10);
}

TEST(Parts, WithoutALimitThereIsOneOfAll) {
  Draws draws(4);
  const StepGraph graph = random_graph(8, draws);
  EXPECT_EQ(parts_within(graph, 0), std::vector<Sides>{all_on(graph, 1)});
  EXPECT_EQ(sides_by_chance_within(graph, 2, parts_within(graph, 0), 0), sides_by_chance(graph, 2));
}

}  // namespace
}  // namespace nibble::inline placement
