// SPDX-License-Identifier: Apache-2.0
// Engines on every device by name: the same integers, and a check that finds a difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_test_support.h"
#include "engine/runner.h"
#include "graph/test_random_network.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

TEST(EngineDevices, AnswerAlike) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomNetwork random(seed);
    const Model model = random.model();
    const NaiveExamples examples(model, random.dice(), random.input_low(), random.input_high(), 3);
    for (const char* device : {"reference", "check(cpu,reference)", "check(reference,cpu)"}) {
      const Engine engine(copy_of(model), {.device = device, .max_batch = 2, .threads = 2});
      EXPECT_EQ(answers_of(engine, examples.input, 3), examples.values.back())
          << seed << " on " << device;
    }
  }
}

TEST(EngineDevices, CheckLayerByLayer) {
  RandomNetwork random(7);
  const Model model = random.model();
  const NaiveExamples examples(model, random.dice(), random.input_low(), random.input_high(), 2);
  const Engine engine(copy_of(model),
                      {.device = "check(cpu,reference)", .max_batch = 2, .keeps_layers = true});
  std::size_t node = 0;
  engine.run_layers(as_bytes(engine.input(), examples.input), 2,
                    [&](const ValueInfo& info, std::span<const std::byte> bytes) {
                      EXPECT_EQ(as_integers(info, bytes), examples.values[node++]) << info.name;
                    });
  EXPECT_EQ(node, model.network.nodes.size());
}

// A device that gets one integer of one value wrong.
class WrongRunner final : public EngineRunner {
 public:
  WrongRunner(const EngineProgram& program, std::size_t value)
      : right_(compile(program, {.device = "reference"})), value_(value) {}

  void run(std::span<const std::byte> input, std::int64_t batch,
           std::span<std::byte> output) const override {
    right_->run(input, batch, output);
  }
  void run_watched(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output, const ResultWatcher& watch) const override {
    right_->run_watched(input, batch, output, [&](std::size_t value, const ResultReader& read) {
      watch(value, [&](std::vector<std::byte>& values) {
        read(values);
        if (value == value_) values.back() ^= std::byte{1};
      });
    });
  }
  const std::vector<StepInfo>& steps() const override { return right_->steps(); }
  std::size_t weight_bytes() const override { return 0; }
  std::size_t arena_bytes() const override { return 0; }

 private:
  std::unique_ptr<EngineRunner> right_;
  std::size_t value_;
};

TEST(EngineDevices, CheckFindsADifference) {
  NetworkMaker maker{Shape{2, 3, 2}, integers_format("int8")};
  maker.rescale(0, {1}, 1, -127, 127);
  const EngineProgram program = make_program(maker.model(), true);
  const auto checked = make_check_runner(program, {"cpu", compile(program, {})},
                                         {"wrong", std::make_unique<WrongRunner>(program, 1)});
  const std::vector<std::byte> input(program.entry.bytes, std::byte{10});
  std::vector<std::byte> output(program.values.back().info.bytes);
  try {
    checked->run(input, 1, output);
    ADD_FAILURE() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("example 0, row 1, column 2, channel 1"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("got 5 of cpu, expected 4 of wrong"));
  }
}

TEST(EngineDevices, RefuseWhatIsNotThere) {
  RandomNetwork random(1);
  for (const char* device : {"gpu", "check(cpu)", ""}) {
    EXPECT_THROW(check_device(device), Error) << device;
    EXPECT_THROW(Engine(random.model(), {.device = device}), Error) << device;
  }
}

}  // namespace
}  // namespace nibble::inline engine
