// SPDX-License-Identifier: Apache-2.0
// Every network of the tree on a GPU: all values of an example as the CPU has them, and the CPU's
// answers to batches of any size.
#include "nibble/engine/cuda_engine.h"
#include "tests/networks/every_network.h"

namespace nibble {
namespace {

constexpr std::int64_t kExamples = 9;
constexpr std::int64_t kPlannedBatch = 4;  // nine examples are pieces of 4, 4 and 1

const bool is_known = [] {
  register_cuda_engine();
  return true;
}();

void expect_answers_of_the_cpu(const WholeNetwork& whole, LayerBits bits) {
  SCOPED_TRACE(whole.name);
  const Model model = integers_of(whole, bits);
  const Engine cpu(copy_of(model), {.max_batch = kPlannedBatch});
  const Integers input = examples_by_chance(cpu.input(), kExamples);
  const auto first = [&](const Integers& all, std::int64_t examples) {
    const auto size = all.size() * static_cast<std::size_t>(examples) / kExamples;
    return Integers(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
  };
  const Integers wanted = answers_of(cpu, input, kExamples);
  const Engine device(copy_of(model), {.device = "cuda", .max_batch = kPlannedBatch});
  for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{3}, kExamples}) {
    EXPECT_TRUE(answers_of(device, first(input, batch), batch) == first(wanted, batch))
        << "batch " << batch;
  }
  const Engine both(copy_of(model), {.device = "check(cpu,cuda)"});
  EXPECT_NO_THROW(answers_of(both, first(input, 1), 1));
}

TEST(DeviceEveryNetwork, AnswersAsOnTheCpuInEightBits) {
  ASSERT_TRUE(is_known);
  for (const bool is_large : {false, true}) {
    for (const WholeNetwork& each : whole_networks(is_large)) expect_answers_of_the_cpu(each, {});
  }
}

TEST(DeviceEveryNetwork, AnswersAsOnTheCpuInFourBits) {
  for (const bool is_large : {false, true}) {
    for (const WholeNetwork& each : whole_networks(is_large))
      expect_answers_of_the_cpu(each, {4, 4});
  }
}

}  // namespace
}  // namespace nibble
