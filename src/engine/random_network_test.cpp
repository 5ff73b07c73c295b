// SPDX-License-Identifier: Apache-2.0
// Networks by chance: the engine gives what the definitions give, on every path, fused or not, with
// any number of threads, whatever the batch; and every value lies between its bounds.
#include "graph/test_random_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/isa.h"
#include "engine/engine_test_support.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kBatch = 5;

struct Choice {
  std::int64_t max_batch;
  std::int64_t batch;
  int threads;
};
constexpr Choice kChoices[] = {{1, 1, 1}, {2, 5, 2}, {5, 5, 3}, {5, 2, 1}, {3, 5, 1}, {8, 5, 2}};

class RandomNetworks : public ::testing::Test {
 protected:
  void TearDown() override { reset_isa(); }

  static void check_layers(const Model& model, const NaiveExamples& examples, Model copy) {
    const Engine engine(std::move(copy), {.max_batch = kBatch, .threads = 2, .keeps_layers = true});
    std::size_t node = 0;
    engine.run_layers(as_bytes(engine.input(), examples.input), kBatch,
                      [&](const ValueInfo& info, std::span<const std::byte> bytes) {
                        const Integers& wanted = examples.values[node];
                        EXPECT_EQ(info.name, model.network.nodes[node++].name);
                        const auto [least, most] = std::ranges::minmax(wanted);
                        EXPECT_LE(info.low, least) << info.name;
                        EXPECT_GE(info.high, most) << info.name;
                        EXPECT_TRUE(as_integers(info, bytes) == wanted) << info.name;
                      });
    EXPECT_EQ(node, model.network.nodes.size());
  }

  static void check_seed(std::uint64_t seed) {
    RandomNetwork random(seed);
    const Model model = random.model();
    SCOPED_TRACE(::testing::Message() << seed << "\n" << to_toml(model.network));
    const NaiveExamples examples(model, random.dice(), random.input_low(), random.input_high(),
                                 kBatch);
    set_isa(supported_isas()[seed % supported_isas().size()]);
    try {
      check_layers(model, examples, random.model());
    } catch (const Error& error) {  // sums that only a fused layer may have
      EXPECT_THAT(error.what(), ::testing::HasSubstr("beyond 32 bits"));
    }
    std::size_t choice = seed;
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      const auto [max_batch, batch, threads] = kChoices[choice++ % std::size(kChoices)];
      const Engine engine(random.model(),
                          {.max_batch = max_batch,
                           .threads = threads,
                           .packs_halves = seed % 2 == 0 ? std::nullopt : std::optional(true)});
      EXPECT_TRUE(answers_of(engine, examples.first(examples.input, batch), batch) ==
                  examples.first(examples.values.back(), batch))
          << name_of(isa) << " " << max_batch << " " << batch << " " << threads;
    }
  }
};

TEST_F(RandomNetworks, AnswerAsTheDefinitionsSay) {
  const char* first = std::getenv("NIBBLE_SEED");  // by hand: others
  const char* count = std::getenv("NIBBLE_SEEDS");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  const std::uint64_t end = begin + (count == nullptr ? 400 : std::strtoull(count, nullptr, 10));
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    try {
      check_seed(seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << seed << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace nibble::inline engine
