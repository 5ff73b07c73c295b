// SPDX-License-Identifier: Apache-2.0
// What the engine refuses, and in which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "engine/cpu/plain_step.h"
#include "engine/engine_test_support.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(EngineErrors, RefusesAValueBeyond32Bits) {
  NetworkMaker maker({4}, integers_format("int8"));
  const std::size_t large = maker.rescale(0, {kMaxInteger}, 0, -kMaxInteger, kMaxInteger);
  maker.add(Add{}, {large, large});
  EXPECT_THAT(error_of([&] { Engine(maker.model()); }),
              AllOf(HasSubstr("'n2'"), HasSubstr("beyond 32 bits")));
}

TEST(EngineErrors, RefusesMoreMemoryThanItsLimit) {
  NetworkMaker maker({100, 100, 4}, integers_format("int8"));
  maker.add(Relu{});
  const auto load_within = [&](const char* limits) {  // every thread has memory of its own
    Engine(maker.model(), {.threads = 1, .limits = parse_limits(limits)});
  };
  EXPECT_THAT(error_of([&] { load_within("memory=64K"); }),
              HasSubstr("[engine] bytes of weights and of one run: got 8"));
  EXPECT_NO_THROW(load_within("memory=128K"));
  EXPECT_THAT(error_of([&] { Engine(maker.model(), {.limits = parse_limits("values=39999")}); }),
              HasSubstr("value: got 100 x 100 x 4 numbers, expected at most 39999"));
}

TEST(EngineErrors, RefusesInputsOfTheWrongSize) {
  NetworkMaker maker({7}, integers_format("int8"));
  maker.add(ArgMax{});
  const Engine engine(maker.model(), {.max_batch = 2});
  std::vector<std::byte> input(14), output(2 * engine.output().bytes);
  const auto run = [&](std::size_t bytes, std::int64_t batch, std::size_t answers) {
    return error_of([&] {
      engine.run(std::span(input).first(bytes), batch, std::span(output).first(answers));
    });
  };
  EXPECT_EQ(run(14, 2, 2), "no error");
  EXPECT_EQ(run(13, 2, 2), "[engine] input: got 13 bytes, expected 2 examples of 7 bytes");
  EXPECT_EQ(run(14, 2, 1), "[engine] output: got 1 bytes, expected 2 examples of 1 bytes");
  EXPECT_EQ(run(0, 0, 0), "[engine] batch: got 0, expected 1 or more");
  EXPECT_EQ(run(7, -1, 1), "[engine] batch: got -1, expected 1 or more");
  EXPECT_THAT(run(14, std::int64_t{1} << 62, 2), HasSubstr("got 14 bytes"));
}

TEST(EngineErrors, RefusesLayersThatAreNotKeptAndTooManyExamplesOfThem) {
  NetworkMaker maker({7}, integers_format("int8"));
  maker.add(ArgMax{});
  const auto error = [&](bool keeps_layers, std::int64_t batch) {
    const Engine engine(maker.model(), {.max_batch = 2, .keeps_layers = keeps_layers});
    const std::vector<std::byte> input(static_cast<std::size_t>(7 * batch));
    return error_of([&] { engine.run_layers(input, batch, [](const auto&, auto) {}); });
  };
  EXPECT_EQ(error(true, 2), "no error");
  EXPECT_EQ(error(false, 2), "[engine] keeps_layers: got false, expected true");
  EXPECT_EQ(error(true, 3), "[engine] batch: got 3, expected at most max_batch, 2");
}

TEST(EngineErrors, RefusesInputsBeyondTheirRange) {
  NetworkMaker maker({3}, integers_format("int4"));
  maker.add(Table{.first = -8});
  maker.with(tensor_of<std::int8_t>({kTableEntries}, Integers(kTableEntries)));
  const Engine engine(maker.model());
  EXPECT_EQ(error_of([&] { answers_of(engine, {7, -8, 0}, 1); }), "no error");
  EXPECT_EQ(error_of([&] {
              answers_of(engine, {7, -9, 0}, 1);
            }),
            "[engine] input: got -9, expected -8 to 7");
  EXPECT_EQ(error_of([&] {
              answers_of(engine, {7, 0, 100}, 1);
            }),
            "[engine] input: got 100, expected -8 to 7");
}

TEST(EngineErrors, RefusesOptionsThatCannotBe) {
  NetworkMaker maker({3}, integers_format("int4"));
  maker.add(ArgMax{});
  EXPECT_EQ(error_of([&] { Engine(maker.model(), {.max_batch = 0}); }),
            "[engine] max_batch: got 0, expected 1 to 65536");
  EXPECT_EQ(error_of([&] { Engine(maker.model(), {.threads = -1}); }),
            "[engine] threads: got -1, expected 0 to 1024");
}

TEST(EngineErrors, NamesAllLayersWithoutAnIntegerForm) {
  NetworkMaker maker({6, 7, 3}, integers_format("int8"));
  maker.add(BatchNorm{});
  for (int i = 0; i < 4; ++i) maker.with(tensor_of<float>({3}, {1, 1, 1}));
  maker.add(Relu6{});
  maker.add(Dropout{});
  maker.add(GlobalAveragePool{});
  maker.add(SoftmaxCrossEntropy{});
  EXPECT_EQ(error_of([&] { Engine(maker.model()); }),
            "[integer network] layers without an integer form: got n1 (batch_norm), n2 (relu6), "
            "expected none");
}

TEST(EngineErrors, RefusesFloatNetworks) {
  NetworkMaker maker({3}, Precision{});
  maker.add(Linear{.features = 2});
  maker.with(tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const std::string expected =
      "[integer network] layers in floats: got n1, expected none: 'nibble quantize' and 'nibble "
      "train --arith int8' make integers";
  EXPECT_EQ(error_of([&] { Engine(maker.model()); }), expected);
  NetworkMaker weights({3}, integers_format("int8"));
  weights.add(Linear{.features = 2});
  weights.with(tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(error_of([&] { Engine(weights.model()); }), expected);
}

// A plan that takes the wrong kind of step must not compute nothing.
TEST(EngineErrors, StepsOfOtherOperationsAreRefusedByName) {
  EXPECT_EQ(error_of([] { make_plain_step({.node = {.name = "bn", .op = BatchNorm{}}}); }),
            "[network] node 'bn' (batch_norm): step: got batch_norm, expected an operation that "
            "runs by its definition");
  EXPECT_THAT(error_of([] { make_plain_step({.node = {.name = "a", .op = Add{}}}); }),
              HasSubstr("'a' (add)"));
  EXPECT_EQ(error_of([] { make_row_step({.node = {.name = "f", .op = Flatten{}}}, false); }),
            "[network] node 'f' (flatten): step: got flatten, expected an operation that runs by "
            "rows");
}

TEST(EngineErrors, RefusesTensorsThatDoNotFit) {
  NetworkMaker maker({3}, integers_format("int8"));
  maker.add(Linear{.features = 2});
  maker.with(tensor_of<std::int8_t>({2, 2}, {1, 2, 3, 4}));
  EXPECT_THAT(error_of([&] { Engine(maker.model()); }), HasSubstr("shape of n1.weight"));
}

}  // namespace
}  // namespace nibble::inline engine
