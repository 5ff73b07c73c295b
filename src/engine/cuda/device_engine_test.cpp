// SPDX-License-Identifier: Apache-2.0
// Engines on a GPU: the integers of the definitions and of the CPU, whatever the batch, fused or
// not, from any memory, several batches at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "core/test_support.h"
#include "engine/engine_test_support.h"
#include "engine/test_resnet50_int4_golden.h"
#include "graph/test_random_network.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kMost = 7;  // examples

// A random network with examples, and what the definitions make of them.
struct RandomCase {
  explicit RandomCase(std::uint64_t seed)
      : random(seed),
        model(random.model()),
        examples(model, random.dice(), random.input_low(), random.input_high(), kMost) {}

  RandomNetwork random;
  Model model;
  NaiveExamples examples;
};

void expect_layers(const RandomCase& each) {
  const Engine engine(copy_of(each.model),
                      {.device = "cuda", .max_batch = kMost, .keeps_layers = true});
  std::size_t node = 0;
  engine.run_layers(as_bytes(engine.input(), each.examples.input), kMost,
                    [&](const ValueInfo& info, std::span<const std::byte> bytes) {
                      EXPECT_TRUE(as_integers(info, bytes) == each.examples.values[node++])
                          << info.name;
                    });
  EXPECT_EQ(node, each.model.network.nodes.size());
}

void expect_answers(const RandomCase& each, std::int64_t max_batch) {
  const Engine engine(copy_of(each.model), {.device = "cuda", .max_batch = max_batch});
  for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{4}, kMost, kMost}) {
    EXPECT_TRUE(answers_of(engine, each.examples.first(each.examples.input, batch), batch) ==
                each.examples.first(each.examples.values.back(), batch))
        << "max_batch " << max_batch << ", batch " << batch;
  }
}

TEST(DeviceEngine, RunsTwoHundredRandomNetworks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomCase each(seed);
    SCOPED_TRACE(::testing::Message() << seed << "\n" << to_toml(each.model.network));
    try {
      expect_layers(each);
    } catch (const Error& error) {  // sums that only a fused layer may have
      EXPECT_THAT(error.what(), ::testing::HasSubstr("beyond 32 bits"));
    }
    expect_answers(each, 1 + static_cast<std::int64_t>(seed % 9));
  }
}

TEST(DeviceEngine, AgreesWithTheCpuInEveryValue) {
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    const RandomCase each(seed);
    SCOPED_TRACE(seed);
    for (const char* device : {"check(cuda,reference)", "check(cpu,cuda)"}) {
      const Engine engine(copy_of(each.model), {.device = device, .max_batch = 3});
      EXPECT_TRUE(answers_of(engine, each.examples.input, kMost) == each.examples.values.back())
          << device;
    }
  }
}

// A 3×3 layer on pictures so large that no tile is shared, with and without an addend.
Model large_layer(const char* format, std::int64_t channels, bool is_wide, bool has_addend) {
  constexpr std::int64_t kDepth = 64;
  Dice dice(7);
  NetworkMaker maker({64, 64, kDepth}, integers_format(format));
  maker.add(Conv2d{.channels = channels, .kernel = {3, 3}, .padding = {1, 1}, .has_bias = true});
  maker.with(tensor_of<std::int8_t>({channels, 3, 3, kDepth},
                                    dice.many(channels * 9 * kDepth, -127, 127)));
  maker.with(tensor_of<std::int32_t>({channels}, dice.many(channels, -5000, 5000)));
  if (has_addend) maker.add(Add{}, {maker.last(), 0});
  if (is_wide) {
    maker.rescale(maker.last(), dice.many(channels, 1 << 29, 1 << 30), 46, -100, 127);
  } else {
    maker.rescale(maker.last(), dice.many(channels, 10, 80), 20, -100, 127);
  }
  return maker.model();
}

TEST(DeviceEngine, MultipliesInLargeTiles) {
  for (const char* format : {"int8", "uint8"}) {
    for (const std::int64_t channels : {64, 96, 160}) {
      for (const bool is_wide : {false, true}) {
        SCOPED_TRACE(::testing::Message() << format << " " << channels << " " << is_wide);
        const Model model = large_layer(format, channels, is_wide, channels == 64);
        const Engine cpu(copy_of(model), {.max_batch = 4});
        const Engine device(copy_of(model), {.device = "cuda", .max_batch = kMost});
        EXPECT_EQ(device.steps()[0].is_wide, is_wide);
        const auto is_signed = cpu.input().low < 0;
        const std::vector<std::byte> input =
            as_bytes(cpu.input(), Dice(8).many(kMost * cpu.input().shape.elements(),
                                               is_signed ? -128 : 0, is_signed ? 127 : 255));
        std::vector<std::byte> wanted(cpu.output().bytes * kMost);
        std::vector<std::byte> answers(wanted.size());
        cpu.run(input, kMost, wanted);
        device.run(input, kMost, answers);
        EXPECT_TRUE(answers == wanted);
      }
    }
  }
}

// A convolution whose operands the copy engine of Hopper brings.
struct CopiedLayer {
  std::int64_t depth;
  std::int64_t channels;
  std::int64_t kernel;
  std::int64_t stride;
  bool has_addend;  // another convolution's values, rescaled
  bool is_relu;     // results from 0 on, which has a law of its own
  const char* format = "int8";

  Model model() const {
    Dice dice(static_cast<std::uint64_t>(depth + channels + kernel));
    NetworkMaker maker({18, 21, depth}, integers_format(format));  // six lines fill a tile
    const auto convolve = [&](std::int64_t side) {
      maker.add(Conv2d{.channels = channels,
                       .kernel = {side, side},
                       .stride = {stride, stride},
                       .padding = {side / 2, side / 2},
                       .has_bias = true},
                {0});
      maker.with(tensor_of<std::int8_t>({channels, side, side, depth},
                                        dice.many(channels * side * side * depth, -7, 7)));
      maker.with(tensor_of<std::int32_t>({channels}, dice.many(channels, -5000, 5000)));
    };
    const std::int64_t low = is_relu ? 0 : -100;
    std::size_t addend = 0;
    if (has_addend) {
      convolve(1);
      maker.rescale(maker.last(), dice.many(channels, 1, 9), 8, low, 100);
      addend = maker.last();
    }
    convolve(kernel);
    if (has_addend) {
      const std::size_t sum = maker.last();
      maker.rescale(addend, dice.many(channels, 1, 60000), 3, -(1 << 30), 1 << 30);
      maker.add(Add{}, {sum, maker.last()});
    }
    maker.rescale(maker.last(), dice.many(channels, 1, 30), 12, low, 120);
    return maker.model();
  }
};

// In every tile that there is, whole and cut into parts of the depth.
TEST(DeviceEngine, CopiesOperandsOfEveryShape) {
  const std::vector<CopiedLayer> layers = {
      {16, 16, 3, 1, true, true},
      {40, 10, 3, 2, false, true},
      {64, 64, 1, 1, true, true},
      {64, 80, 3, 1, true, false},
      {128, 160, 3, 2, true, true},
      {256, 320, 1, 2, false, false},
      {96, 64, 5, 1, false, true},
      {512, 64, 3, 1, true, true},
      {144, 256, 1, 1, true, false},
      {64, 64, 3, 1, true, true},
      {32, 48, 5, 1, false, false},
      {3, 64, 7, 2, false, true},
      {3, 20, 7, 2, false, false},
      {32, 32, 3, 1, true, false},
      {3, 64, 7, 2, false, true, "uint8"},
      {3, 16, 3, 1, false, true, "uint8(zero=114)"},
      {3, 130, 3, 1, false, false, "uint8"},
      // The byte 0, which is filled in outside of pictures, is another number than 0.
      {64, 64, 3, 1, true, true, "uint8"},
      {32, 48, 5, 1, false, false, "uint8(zero=114)"},
      {64, 80, 3, 2, true, false, "uint8"},
      {512, 64, 3, 1, false, true, "uint8(zero=3)"},
      {128, 160, 3, 1, true, true, "uint8"},
      {64, 320, 7, 2, false, false, "uint8(zero=250)"}};
  for (const CopiedLayer& layer : layers) {
    SCOPED_TRACE(::testing::Message() << layer.depth << " to " << layer.channels << ", "
                                      << layer.kernel << "/" << layer.stride);
    const Model model = layer.model();
    const Engine cpu(copy_of(model), {.max_batch = 4});
    const std::vector<std::byte> input = as_bytes(
        cpu.input(),
        Dice(8).many(kMost * cpu.input().shape.elements(), cpu.input().low, cpu.input().high));
    std::vector<std::byte> wanted(cpu.output().bytes * kMost);
    cpu.run(input, kMost, wanted);
    const auto expect_answers_of = [&](const Engine& device) {
      for (const std::int64_t batch : {std::int64_t{1}, kMost}) {
        const auto examples = static_cast<std::size_t>(batch);
        std::vector<std::byte> answers(cpu.output().bytes * examples);
        device.run(std::span(input).first(cpu.input().bytes * examples), batch, answers);
        EXPECT_TRUE(std::equal(answers.begin(), answers.end(), wanted.begin())) << batch;
      }
    };
    const Engine usual(copy_of(model), {.device = "cuda", .max_batch = kMost});
    expect_answers_of(usual);
    const bool is_on_hopper = !usual.cuts().empty();
    for (const StepInfo& step : usual.steps())
      EXPECT_TRUE(!is_on_hopper || step.shape != "") << step.name << " is not brought by copies";
    for (const ProductCut& cut : usual.cuts()) {
      SCOPED_TRACE(::testing::Message() << "tiles of " << cut.pixels << " x " << cut.outputs);
      Tuning tuning;
      for (const StepInfo& step : usual.steps()) tuning.cuts[step.shape] = cut;
      expect_answers_of(
          Engine(copy_of(model), {.device = "cuda", .max_batch = kMost, .tuning = &tuning}));
    }
  }
}

// Two convolutions of bytes with a zero point, and a residual addition in a unit of its own.
TEST(DeviceEngine, RunsResidualBlocksOfBytesWithZeroPoints) {
  constexpr std::int64_t kChannels = 48;
  Dice dice(5);
  NetworkMaker maker({9, 14, kChannels}, integers_format("uint8(zero=114)"));
  std::size_t before = 0;
  for (int block = 0; block < 2; ++block) {
    maker.add(Conv2d{.channels = kChannels, .kernel = {3, 3}, .padding = {1, 1}}, {before});
    maker.with(tensor_of<std::int8_t>({kChannels, 3, 3, kChannels},
                                      dice.many(kChannels * 9 * kChannels, -127, 127)));
    const std::size_t conv =
        maker.rescale(maker.last(), dice.many(kChannels, 1 << 29, 1 << 30), 43, -101, 154);
    const std::size_t first = maker.rescale(before, {1'534'567'891}, 21, -INT32_MAX, INT32_MAX);
    const std::size_t second = maker.rescale(conv, {1'198'765'432}, 22, -INT32_MAX, INT32_MAX);
    maker.add(Add{}, {first, second});
    before = maker.rescale(maker.last(), {1'073'741'824 + 12'345}, 41, -130, 125);
  }
  const Model model = maker.model();
  const Engine cpu(copy_of(model), {.max_batch = kMost});
  const Engine device(copy_of(model), {.device = "cuda", .max_batch = kMost});
  ASSERT_EQ(device.steps().size(), 4U);
  EXPECT_EQ(device.steps()[1].kind, "rescale + add + rescale");
  const std::vector<std::byte> input =
      as_bytes(cpu.input(),
               dice.many(kMost * cpu.input().shape.elements(), cpu.input().low, cpu.input().high));
  std::vector<std::byte> wanted(cpu.output().bytes * kMost);
  std::vector<std::byte> answers(wanted.size());
  cpu.run(input, kMost, wanted);
  device.run(input, kMost, answers);
  EXPECT_TRUE(answers == wanted);
}

TEST(DeviceEngine, TakesMemoryOfHostAndGpu) {
  const RandomCase each(11);
  const Engine engine(copy_of(each.model), {.device = "cuda", .max_batch = 4});
  const std::vector<std::byte> input = as_bytes(engine.input(), each.examples.input);
  std::vector<std::byte> answers(engine.output().bytes * kMost);
  for (const BufferPlace input_place : {BufferPlace::host, BufferPlace::device}) {
    for (const BufferPlace output_place : {BufferPlace::host, BufferPlace::device}) {
      const EngineBuffer from = engine.allocate(input.size(), input_place);
      from.write(input);
      for (const bool is_submitted : {false, true}) {
        const EngineBuffer to = engine.allocate(answers.size(), output_place);
        if (is_submitted) {
          engine.submit(from.bytes(), kMost, to.bytes()).get();
        } else {
          engine.run(from.bytes(), kMost, to.bytes());
        }
        to.read(answers);
        EXPECT_TRUE(as_integers(engine.output(), answers) == each.examples.values.back());
      }
    }
  }
}

// The last example first, more of them than a run of the GPU takes.
TEST(DeviceEngine, TakesExamplesThatLieApart) {
  const RandomCase each(11);
  const Engine engine(copy_of(each.model), {.device = "cuda", .max_batch = 4});
  const std::size_t bytes = engine.input().bytes;
  const std::vector<std::byte> input = as_bytes(engine.input(), each.examples.input);
  std::vector<std::byte> wanted(engine.output().bytes * kMost);
  std::vector<std::byte> turned;
  for (std::size_t i = kMost; i-- > 0;)
    turned.insert(turned.end(), input.begin() + static_cast<std::ptrdiff_t>(i * bytes),
                  input.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes));
  engine.run(turned, kMost, wanted);
  for (const BufferPlace place : {BufferPlace::host, BufferPlace::device}) {
    const EngineBuffer from = engine.allocate(input.size(), place);
    from.write(input);
    std::vector<const std::byte*> examples;
    for (std::size_t i = kMost; i-- > 0;) examples.push_back(from.bytes().data() + i * bytes);
    std::vector<std::byte> answers(wanted.size());
    engine.run(examples, answers);
    EXPECT_EQ(answers, wanted);
    std::ranges::fill(answers, std::byte{0});
    std::promise<bool> has_failed;
    engine.submit(examples, answers,
                  [&](const std::exception_ptr& error) { has_failed.set_value(error != nullptr); });
    EXPECT_FALSE(has_failed.get_future().get());
    EXPECT_EQ(answers, wanted);
  }
}

TEST(DeviceEngine, KnowsItsPeak) {
  NetworkMaker maker({3}, integers_format("int4"));
  maker.add(ArgMax{});
  const EnginePeak peak = Engine(maker.model(), {.device = "cuda"}).measure_peak();
  EXPECT_THAT(peak.instructions, ::testing::AnyOf("dp4a", "turing", "mma", "wgmma"));
  EXPECT_GT(peak.operations, 0);
}

TEST(DeviceEngine, RefusesNumbersBeyondTheRange) {
  NetworkMaker maker({3}, integers_format("int4"));
  maker.add(Table{.first = -8});
  maker.with(tensor_of<std::int8_t>({kTableEntries}, Integers(kTableEntries)));
  const Engine engine(maker.model(), {.device = "cuda"});
  const std::vector<std::byte> good(3, std::byte{7});
  const std::vector<std::byte> bad(3, std::byte{100});
  std::vector<std::byte> output(engine.output().bytes);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { engine.run(bad, 1, output); }),
              "[engine] input: got 100, expected -8 to 7");
    EXPECT_EQ(error_of([&] { engine.submit(bad, 1, output).get(); }),
              "[engine] input: got 100, expected -8 to 7");
    const std::vector<const std::byte*> apart = {good.data(), bad.data()};
    std::vector<std::byte> two(2 * engine.output().bytes);
    EXPECT_EQ(error_of([&] { engine.run(apart, two); }),
              "[engine] input: got 100, expected -8 to 7");
    EXPECT_EQ(error_of([&] { engine.run(good, 1, output); }), "no error");
    EXPECT_EQ(error_of([&] { engine.submit(good, 1, output).get(); }), "no error");
  }
}

// A batch on its way.
struct DeviceTrial {
  std::int64_t batch = 0;
  std::vector<std::byte> output = {};
};

TEST(DeviceEngine, AnswersAThousandSubmissionsOfFourThreads) {
  const RandomCase each(11);
  for (const int lanes : {1, 3}) {
    const Engine engine(copy_of(each.model), {.device = "cuda", .max_batch = 4, .lanes = lanes});
    const std::vector<std::byte> input = as_bytes(engine.input(), each.examples.input);
    std::vector<std::byte> answers(engine.output().bytes * kMost);
    engine.run(input, kMost, answers);
    ASSERT_TRUE(as_integers(engine.output(), answers) == each.examples.values.back());
    std::vector<DeviceTrial> trials(1000);
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        std::vector<PendingRun> pending;
        for (std::size_t i = first; i < trials.size(); i += 4) {
          DeviceTrial& trial = trials[i];
          trial.batch = 1 + static_cast<std::int64_t>(i) % kMost;
          const auto examples = static_cast<std::size_t>(trial.batch);
          trial.output.resize(engine.output().bytes * examples);
          const auto own = std::span(input).first(engine.input().bytes * examples);
          if (i % 5 == 0) {
            engine.run(own, trial.batch, trial.output);
          } else {
            pending.push_back(engine.submit(own, trial.batch, trial.output));
          }
        }
        for (PendingRun& each_one : pending) each_one.get();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const DeviceTrial& trial : trials) {
      EXPECT_TRUE(std::equal(trial.output.begin(), trial.output.end(), answers.begin()))
          << trial.batch << " examples, " << lanes << " lanes";
    }
  }
}

TEST(DeviceEngine, TimesItsSteps) {
  const RandomCase each(5);
  const Engine engine(copy_of(each.model), {.device = "cuda", .max_batch = 4});
  std::vector<double> seconds(engine.steps().size());
  std::vector<std::byte> output(engine.output().bytes * kMost);
  engine.run_timed(as_bytes(engine.input(), each.examples.input), kMost, output, seconds);
  EXPECT_TRUE(as_integers(engine.output(), output) == each.examples.values.back());
  for (const double each_one : seconds) EXPECT_GT(each_one, 0);
}

class DeviceResNet50 : public ResNet50Int4 {};

TEST_F(DeviceResNet50, HasTheRecordedSumsAtEveryBlock) {
  const Engine layers = engine({.device = "cuda", .keeps_layers = true});
  check_layers(layers, zeros(), kZeros);
  check_layers(layers, made_up(), kMadeUp);
}

TEST_F(DeviceResNet50, AnswersAsTheCpuInAnyBatch) {
  std::vector<std::byte> input;
  for (int i = 0; i < 19; ++i) {
    std::vector<std::byte> one = i % 3 == 0 ? zeros() : made_up();
    if (i % 3 == 2) std::rotate(one.begin(), one.begin() + 1000 * i, one.end());
    input.insert(input.end(), one.begin(), one.end());
  }
  const Engine cpu = engine({.max_batch = 4});
  std::vector<std::byte> wanted(cpu.output().bytes * 19);
  cpu.run(input, 19, wanted);
  for (const std::int64_t max_batch : {1, 8, 32}) {
    const Engine device = engine({.device = "cuda", .max_batch = max_batch});
    std::vector<std::byte> answers(wanted.size());
    for (int i = 0; i < 3; ++i) {
      std::ranges::fill(answers, std::byte{0});
      device.run(input, 19, answers);
      EXPECT_EQ(answers, wanted) << max_batch;
    }
  }
}

}  // namespace
}  // namespace nibble::inline engine
