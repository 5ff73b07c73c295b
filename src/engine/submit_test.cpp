// SPDX-License-Identifier: Apache-2.0
// Submitted batches: the integers of `run`, every completion once, errors where they belong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "core/test_support.h"
#include "engine/engine_test_support.h"
#include "graph/test_random_network.h"
#include "nibble/core/error.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kLargest = 9;

// A random network, its batches of 1 to kLargest examples, and what `run` answers.
struct Expected {
  Expected(std::uint64_t seed, int lanes)
      : random(seed), engine(random.model(), {.max_batch = 4, .threads = 1, .lanes = lanes}) {
    input = as_bytes(engine.input(), random.dice().many(kLargest * engine.input().shape.elements(),
                                                        random.input_low(), random.input_high()));
    answers = room_for(kLargest);
    engine.run(input, kLargest, answers);
  }
  std::span<const std::byte> examples(std::int64_t batch) const {
    return std::span(input).first(engine.input().bytes * static_cast<std::size_t>(batch));
  }
  std::vector<std::byte> answers_to(std::int64_t batch) const {
    return {answers.data(), answers.data() + room_for(batch).size()};
  }
  std::vector<std::byte> room_for(std::int64_t batch) const {
    return std::vector<std::byte>(engine.output().bytes * static_cast<std::size_t>(batch));
  }

  RandomNetwork random;
  std::vector<std::byte> input;
  std::vector<std::byte> answers;
  Engine engine;  // goes first: what is on its way reads the input
};

// One of many batches on their way.
struct Trial {
  std::int64_t batch = 0;
  std::vector<std::byte> output = {};
  int completions = 0;
  bool has_failed = false;
};

TEST(Submit, AThousandBatchesOfFourThreadsAnswerAsRunDoes) {
  for (const int lanes : {1, 3}) {
    std::optional<Expected> expected(std::in_place, 11, lanes);
    std::vector<Trial> trials(1000);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      trials[i].batch = 1 + static_cast<std::int64_t>(i) % kLargest;
      trials[i].output = expected->room_for(trials[i].batch);
    }
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (std::size_t i = first; i < trials.size(); i += 4) {
          Trial& trial = trials[i];
          const auto examples = expected->examples(trial.batch);
          if (i % 8 < 4) {
            expected->engine.submit(examples, trial.batch, trial.output,
                                    [&trial](const std::exception_ptr& error) {
                                      ++trial.completions;
                                      trial.has_failed = error != nullptr;
                                    });
          } else {
            expected->engine.submit(examples, trial.batch, trial.output).get();
            ++trial.completions;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::vector<std::byte> answers = expected->answers;
    const std::size_t each = expected->engine.output().bytes;
    expected.reset();  // waits for what is still on its way
    for (const Trial& trial : trials) {
      EXPECT_EQ(trial.completions, 1);
      EXPECT_FALSE(trial.has_failed);
      EXPECT_TRUE(std::equal(trial.output.begin(), trial.output.end(), answers.begin()))
          << trial.batch << " examples of " << each << " bytes, " << lanes << " lanes";
    }
  }
}

// The last example first.
TEST(Submit, TakesExamplesThatLieApart) {
  const Expected expected(12, 2);
  const std::size_t bytes = expected.engine.input().bytes;
  const std::size_t answer = expected.engine.output().bytes;
  std::vector<const std::byte*> examples;
  std::vector<std::byte> wanted;
  for (std::size_t i = kLargest; i-- > 0;) {
    examples.push_back(expected.input.data() + i * bytes);
    const auto its = std::span(expected.answers).subspan(i * answer, answer);
    wanted.insert(wanted.end(), its.begin(), its.end());
  }
  std::vector<std::byte> output = expected.room_for(kLargest);
  expected.engine.run(examples, output);
  EXPECT_EQ(output, wanted);
  std::ranges::fill(output, std::byte{0});
  std::promise<bool> has_failed;
  expected.engine.submit(examples, output, [&](const std::exception_ptr& error) {
    has_failed.set_value(error != nullptr);
  });
  EXPECT_FALSE(has_failed.get_future().get());
  EXPECT_EQ(output, wanted);
  EXPECT_THAT(error_of([&] { expected.engine.run(std::span(examples).first(2), output); }),
              testing::HasSubstr("output: got"));
}

// A table of int4: other numbers must not reach it.
Engine narrow_engine() {
  NetworkMaker maker({3}, integers_format("int4"));
  maker.add(Table{.first = -8});
  maker.with(tensor_of<std::int8_t>({kTableEntries}, Integers(kTableEntries)));
  return Engine(maker.model());
}

TEST(Submit, GivesAnErrorToItsBatchAlone) {
  const Engine engine = narrow_engine();
  const std::vector<std::byte> good(3, std::byte{7});
  const std::vector<std::byte> bad(3, std::byte{100});
  std::array<std::vector<std::byte>, 3> outputs;
  outputs.fill(std::vector<std::byte>(engine.output().bytes));
  PendingRun first = engine.submit(good, 1, outputs[0]);
  PendingRun second = engine.submit(bad, 1, outputs[1]);
  PendingRun third = engine.submit(good, 1, outputs[2]);
  EXPECT_EQ(error_of([&] { first.get(); }), "no error");
  EXPECT_EQ(error_of([&] { second.get(); }), "[engine] input: got 100, expected -8 to 7");
  EXPECT_EQ(error_of([&] { third.get(); }), "no error");
  const std::vector<const std::byte*> apart = {good.data(), bad.data()};
  std::vector<std::byte> two(2 * engine.output().bytes);
  EXPECT_EQ(error_of([&] { engine.run(apart, two); }), "[engine] input: got 100, expected -8 to 7");
  std::promise<std::string> told;
  engine.submit(bad, 1, outputs[0], [&](const std::exception_ptr& error) {
    told.set_value(error_of([&] { std::rethrow_exception(error); }));
  });
  EXPECT_EQ(told.get_future().get(), "[engine] input: got 100, expected -8 to 7");
}

TEST(Submit, RefusesWrongSizesAtOnce) {
  const Engine engine = narrow_engine();
  const std::vector<std::byte> input(3);
  std::vector<std::byte> output(engine.output().bytes);
  EXPECT_EQ(error_of([&] { engine.submit(input, 2, output); }),
            "[engine] input: got 3 bytes, expected 2 examples of 3 bytes");
  EXPECT_EQ(error_of([&] { engine.submit(input, 0, output, [](const auto&) { FAIL(); }); }),
            "[engine] batch: got 0, expected 1 or more");
  NetworkMaker maker({3}, integers_format("int4"));
  maker.add(ArgMax{});
  EXPECT_EQ(error_of([&] { Engine(maker.model(), {.lanes = 0}); }),
            "[engine] lanes: got 0, expected 1 to 1024");
}

TEST(Submit, TakesBatchesFromCompletions) {
  const Expected expected(5, 1);
  std::vector<std::byte> output = expected.room_for(1);
  std::promise<void> is_over;
  int left = 20;
  Completion again = [&](const std::exception_ptr&) {
    if (--left == 0) return is_over.set_value();
    expected.engine.submit(expected.examples(1), 1, output, again);
  };
  expected.engine.submit(expected.examples(1), 1, output, again);
  is_over.get_future().wait();
  EXPECT_EQ(output, expected.answers_to(1));
}

// The batches behind it end first, on its thread and on the others.
TEST(Submit, ACompletionMayEndTheEngine) {
  for (const int lanes : {1, 3}) {
    Expected expected(13, lanes);
    const auto examples = expected.examples(1);
    std::vector<std::vector<std::byte>> outputs(50, expected.room_for(1));
    std::optional<Engine> engine(std::move(expected.engine));
    std::promise<void> has_all;
    std::promise<int> is_over;
    std::atomic<int> ended = 0;
    for (std::vector<std::byte>& output : outputs) {
      engine->submit(examples, 1, output, [&](const std::exception_ptr&) {
        if (&output != outputs.data()) return void(++ended);
        has_all.get_future().wait();
        engine.reset();
        is_over.set_value(ended);
      });
    }
    has_all.set_value();
    EXPECT_EQ(is_over.get_future().get(), 49);
    const std::vector<std::byte> answer(expected.answers.begin(),
                                        expected.answers.begin() + std::ssize(outputs[0]));
    EXPECT_THAT(outputs, testing::Each(answer));
  }
}

TEST(Submit, ACompletionMayBeAllThatKeepsTheEngine) {
  Expected expected(14, 2);
  std::vector<std::byte> output = expected.room_for(1);
  const auto examples = expected.examples(1);
  std::promise<void> has_gone;
  std::shared_ptr<Engine> engine(new Engine(std::move(expected.engine)), [&](Engine* last) {
    delete last;
    has_gone.set_value();
  });
  std::promise<void> is_alone;
  engine->submit(examples, 1, output,
                 [&is_alone, engine](const std::exception_ptr&) { is_alone.get_future().wait(); });
  engine.reset();
  is_alone.set_value();
  has_gone.get_future().wait();
  EXPECT_TRUE(std::ranges::equal(output, std::span(expected.answers).first(output.size())));
}

TEST(PendingRuns, MoveWaitAndEnd) {
  const Expected expected(7, 2);
  std::vector<std::byte> output = expected.room_for(2);
  PendingRun none;
  EXPECT_TRUE(none.is_done());
  none.get();
  PendingRun pending = expected.engine.submit(expected.examples(2), 2, output);
  PendingRun moved = std::move(pending);
  EXPECT_TRUE(moved.wait_for(std::chrono::minutes(1)));
  EXPECT_TRUE(moved.is_done());
  none = std::move(moved);
  none.get();
  EXPECT_EQ(output, expected.answers_to(2));
  { const PendingRun unasked = expected.engine.submit(expected.examples(2), 2, output); }
}

// The engine may go first.
TEST(PendingRuns, OutliveTheirEngine) {
  PendingRun pending;
  std::vector<std::byte> output;
  {
    const Expected expected(7, 1);
    output = expected.room_for(2);
    pending = expected.engine.submit(expected.examples(2), 2, output);
  }
  EXPECT_TRUE(pending.is_done());
  pending.get();
}

}  // namespace
}  // namespace nibble::inline engine
