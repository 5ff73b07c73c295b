// SPDX-License-Identifier: Apache-2.0
// Networks that are well formed and absurd: planner, engine and emitter either refuse each in one
// line or give the integers that the definitions give.
#include "graph/test_hostile_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "core/isa.h"
#include "emit/test_emitted_program.h"
#include "engine/engine_test_support.h"
#include "graph/network_json.h"
#include "nibble/core/limits.h"
#include "nibble/emit/emit.h"

namespace nibble {
namespace {

constexpr std::int64_t kExamples = 3;
constexpr std::uint64_t kCompiled = 100;  // one network in so many becomes a program
constexpr double kMostSeconds = 20;       // of the processor, with sanitizers

// Small, so that each network takes milliseconds; every second time geometry is as good as free,
// so that arithmetic has to be right by itself.
Limits limits_of(std::uint64_t seed) {
  return parse_limits(seed % 2 == 0 ? "values=40000,macs=3000000,memory=256M"
                                    : "values=40000,macs=3000000,memory=256M,geometry=2147483647");
}

// What an error says; empty: there was none.
template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, ::testing::StartsWith("["));
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_LT(text.size(), 1000u);
    return text;
  }
  return "";
}

class HostileNetworks : public ::testing::Test {
 protected:
  void TearDown() override { reset_isa(); }

  static void check_layers(const Model& model, const NaiveExamples& examples) {
    (void)refusal([&] {  // sums that only a fused layer may have
      const Engine engine(copy_of(model), {.max_batch = kExamples, .keeps_layers = true});
      std::size_t node = 0;
      engine.run_layers(as_bytes(engine.input(), examples.input), kExamples,
                        [&](const ValueInfo& info, std::span<const std::byte> bytes) {
                          EXPECT_TRUE(as_integers(info, bytes) == examples.values[node++])
                              << info.name;
                        });
    });
  }

  static void check_emitted(const Model& model, const NaiveExamples& examples, bool is_compiled) {
    const TestVectors vectors{
        .count = kExamples, .inputs = examples.input, .outputs = examples.values.back()};
    EmittedNetwork network;
    if (!refusal([&] { network = emit_c(model, {}, vectors); }).empty() || !is_compiled) return;
    EXPECT_EQ(EmittedProgram(network).failure(
                  "gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"),
              "");
  }

  // Whether it was run.
  static bool check_seed(std::uint64_t seed) {
    const LimitsScope scope(limits_of(seed));
    HostileNetwork random(seed);
    const Model model = random.model();
    const std::string text = to_json(model.network);
    SCOPED_TRACE(::testing::Message() << seed << "\n" << text);
    (void)refusal([&] { EXPECT_EQ(network_from_json(text, "hostile"), model.network); });
    set_isa(supported_isas()[seed % supported_isas().size()]);
    std::optional<Engine> engine;
    (void)refusal([&] {
      engine.emplace(copy_of(model),
                     EngineOptions{.max_batch = 1 + static_cast<std::int64_t>(seed % 3),
                                   .threads = 1 + static_cast<int>(seed % 2)});
    });
    if (!engine) {
      (void)refusal([&] { check_emittable(model, {}); });
      return false;
    }
    const NaiveExamples examples(model, random.dice(), random.input_low(), random.input_high(),
                                 kExamples);
    EXPECT_TRUE(answers_of(*engine, examples.input, kExamples) == examples.values.back());
    check_layers(model, examples);
    if (model.network.nodes.size() > 1) check_emitted(model, examples, seed % kCompiled == 1);
    return true;
  }
};

TEST_F(HostileNetworks, AreRefusedInOneLineOrAnswerAsTheDefinitionsSay) {
  const char* first = std::getenv("NIBBLE_SEED");
  const char* count = std::getenv("NIBBLE_SEEDS");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  const std::uint64_t many = count == nullptr ? 400 : std::strtoull(count, nullptr, 10);
  std::uint64_t run = 0;
  for (std::uint64_t seed = begin; seed < begin + many; ++seed) {
    const std::clock_t start = std::clock();
    try {
      if (check_seed(seed)) ++run;
    } catch (const std::exception& error) {
      ADD_FAILURE() << seed << ": " << error.what();
    }
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kMostSeconds) << seed;
  }
  RecordProperty("run", std::to_string(run));
  // Both kinds are there: a generator that makes one alone tests nothing.
  EXPECT_GT(run, many / 8);
  EXPECT_LT(run, many - many / 8);
}

}  // namespace
}  // namespace nibble
