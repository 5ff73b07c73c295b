// SPDX-License-Identifier: Apache-2.0
// Where 4-bit weights and values lie: in halves of bytes, but in bytes on paths that multiply
// matrices, unless the options say where.
#include <gtest/gtest.h>

#include "engine/test_engine_fixture.h"
#include "graph/parameters.h"

namespace nibble::inline engine {
namespace {

constexpr double kMostOfBytes = 0.55;  // that halves take

class PackingTest : public EngineFixture {
 protected:
  static constexpr std::int64_t kChannels = 64;

  // 4-bit weights on values of 0 to 15.
  void add_layer(NetworkMaker& maker, std::int64_t depth) {
    maker.add(Conv2d{.channels = kChannels, .padding = {1, 1}});
    maker.set_weight_format("int4");
    const Integers numbers = dice_.many(kChannels * 9 * depth, -8, 7);
    const std::vector<std::int8_t> small(numbers.begin(), numbers.end());
    const std::vector<std::uint8_t> bytes = packed_weights(small, 4);
    maker.with(tensor_of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())},
                                       {bytes.begin(), bytes.end()}));
    maker.rescale(maker.last(), dice_.many(kChannels, 1, 60), 14, 0, 15);
  }
  NetworkMaker layers() {
    NetworkMaker maker({8, 9, 3}, integers_format("int8"));
    for (const std::int64_t depth : {std::int64_t{3}, kChannels, kChannels, kChannels})
      add_layer(maker, depth);
    maker.add(MaxPool{.kernel = {8, 9}, .stride = {8, 9}});
    return maker;
  }
  static Engine engine_of(const NetworkMaker& maker, std::optional<bool> packs_halves,
                          const Tuning* tuning = nullptr) {
    return Engine(maker.model(),
                  {.max_batch = 2, .threads = 1, .tuning = tuning, .packs_halves = packs_halves});
  }
};

TEST_F(PackingTest, IsTheChoiceOfThePathUnlessOneIsGiven) {
  const NetworkMaker maker = layers();
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(name_of(isa));
    set_isa(isa);
    const Engine packed = engine_of(maker, true);
    const Engine bytes = engine_of(maker, false);
    EXPECT_LT(static_cast<double>(packed.weight_bytes()),
              kMostOfBytes * static_cast<double>(bytes.weight_bytes()));
    EXPECT_LT(packed.arena_bytes(), bytes.arena_bytes());
    const bool has_matrices = isa == Isa::reference || isa == Isa::amx;
    const Engine usual = engine_of(maker, std::nullopt);
    const Engine& like = has_matrices ? bytes : packed;
    EXPECT_EQ(usual.weight_bytes(), like.weight_bytes());
    EXPECT_EQ(usual.arena_bytes(), like.arena_bytes());
    EXPECT_EQ(usual.steps()[1].shape, like.steps()[1].shape);
  }
}

TEST_F(PackingTest, ChangesNoAnswer) {
  const NetworkMaker maker = layers();
  const NaiveExamples examples(maker.model(), dice_, -128, 127, kBatch);
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(name_of(isa));
    set_isa(isa);
    for (const std::optional<bool> packs_halves : {std::optional<bool>(), {true}, {false}}) {
      const Engine engine = engine_of(maker, packs_halves);
      EXPECT_EQ(answers_of(engine, examples.input, kBatch), examples.values.back());
    }
  }
}

// Shapes say how numbers lie: what was found for the one way is not taken for the other.
TEST_F(PackingTest, ATuningOfTheOtherWayIsNotUsed) {
  const NetworkMaker maker = layers();
  const NaiveExamples examples(maker.model(), dice_, -128, 127, kBatch);
  for (const bool packs_halves : {false, true}) {
    const Engine other = engine_of(maker, !packs_halves);
    Tuning tuning;
    for (const StepInfo& step : other.steps()) {
      if (step.macs > 0) tuning.cuts[step.shape] = {48, 32};
    }
    // Layers behind the first are alike in bytes; of those in halves the last one gives bytes.
    ASSERT_EQ(tuning.cuts.size(), packs_halves ? 2U : 3U);
    const Engine engine = engine_of(maker, packs_halves, &tuning);
    for (const StepInfo& step : engine.steps()) EXPECT_FALSE(tuning.cuts.contains(step.shape));
    EXPECT_EQ(answers_of(engine, examples.input, kBatch), examples.values.back());
  }
}

}  // namespace
}  // namespace nibble::inline engine
