// SPDX-License-Identifier: Apache-2.0
// Tests of the systems without LoadGen: this file takes the place of what it would be told, and
// counts. No answer is lost, given twice, wrong or read after its memory has gone, in a million
// queries, and a model that fails ends the run.
#include "loadgen/harness/systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <loadgen.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <sstream>
#include <thread>

#include "core/test_support.h"
#include "inference/harness_test_support.h"

namespace {

// What LoadGen has been told.
struct Told {
  std::vector<std::atomic<std::uint8_t>> times;  // by response
  std::vector<std::int32_t> wanted;              // the class, by response
  std::atomic<std::size_t> wrong = 0;
  std::atomic<std::size_t> empty = 0;
  std::atomic<int> aborts = 0;

  explicit Told(std::size_t queries) : times(queries), wanted(queries) {}
};

Told* told = nullptr;

}  // namespace

namespace mlperf {

void QuerySamplesComplete(QuerySampleResponse* responses, std::size_t count,
                          const ResponseCallback&) {
  for (std::size_t i = 0; i < count; ++i) {
    const QuerySampleResponse& each = responses[i];
    told->times[each.id].fetch_add(1, std::memory_order_relaxed);
    std::int32_t found = -1;
    if (each.size == sizeof found) {
      std::memcpy(&found, reinterpret_cast<const void*>(each.data), sizeof found);
    } else {
      ++told->empty;
    }
    if (found != told->wanted[each.id]) ++told->wrong;
  }
}

void AbortTest() {
  ++told->aborts;
}

}  // namespace mlperf

namespace nibble::inline loadgen {
namespace {

constexpr std::size_t kSamples = 64;
// A sanitizer makes each of them slow.
constexpr std::size_t kQueries = kCanLimitMemory ? 1'000'000 : 100'000;

constexpr const char* kFormat = "fixed(8,0,symmetric)";

struct SystemCase {
  Scenario scenario;
  bool runs_in_place = false;  // of Offline: streams always do, Server never
  bool has_two_devices = false;
  std::chrono::microseconds longest_wait{0};  // of Server
  std::vector<std::size_t> sizes = {};        // of its batches, where not any will do
};

// Everything between LoadGen and engines.
struct SystemOfTest {
  SystemOfTest(const SystemCase& test, const std::vector<const AnswerEngine*>& engines,
               const Examples& examples)
      : plan{.most_samples = test.scenario == Scenario::single_stream ? 1U : 48U,
             .longest_wait = test.longest_wait,
             .in_time_for = 2 * test.longest_wait,  // some are late
             .lanes = 2,
             .runs_in_place = test.runs_in_place,
             .sizes = test.sizes},
        samples(examples, devices_of(engines), BufferPlace::host, plan.most_samples, failure),
        runner(engines, samples, 2, 1, failure, meter),
        system(make_system(test.scenario, {"test", runner, samples, failure, plan})) {
    std::vector<mlperf::QuerySampleIndex> all(examples.size());
    std::iota(all.begin(), all.end(), 0);
    samples.LoadSamplesToRam(all);
  }

  static std::vector<const Engine*> devices_of(const std::vector<const AnswerEngine*>& engines) {
    std::vector<const Engine*> devices;
    for (const AnswerEngine* each : engines) devices.push_back(&each->engine());
    return devices;
  }

  // How many batches there were of each size.
  std::map<std::size_t, std::size_t> batches() const {
    const TemporaryFolder folder;
    meter.write(folder.path(), plan.lanes);
    std::istringstream lines(folder.content_of("batches.csv"));
    std::map<std::size_t, std::size_t> found;
    std::string line;
    std::getline(lines, line);  // names
    while (std::getline(lines, line))
      found[std::stoul(line)] = std::stoul(line.substr(line.find(',') + 1));
    return found;
  }

  BatchPlan plan;
  RunFailure failure;
  LoadMeter meter;
  SampleLibrary samples;
  BatchRunner runner;
  std::unique_ptr<mlperf::SystemUnderTest> system;
};

class SystemsOnNumbers : public testing::Test {
 protected:
  SystemsOnNumbers()
      : engine_(channel_sums(false, kFormat), {.max_batch = 64, .threads = 1, .lanes = 2}) {
    numbers_.resize(kSamples * engine_.engine().input().bytes);
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = static_cast<std::byte>(static_cast<std::int8_t>(i * i * 7 % 201) - 100);
    examples_.name = "numbers";
    examples_.indices.resize(kSamples);
    std::iota(examples_.indices.begin(), examples_.indices.end(), 0);
    examples_.read = [this](std::size_t begin, std::size_t end, std::span<std::byte> integers) {
      const std::size_t bytes = engine_.engine().input().bytes;
      std::memcpy(integers.data(), numbers_.data() + begin * bytes, (end - begin) * bytes);
    };
  }

  std::vector<std::int32_t> classes() const {
    const ValueInfo& output = engine_.engine().output();
    const auto width = static_cast<std::size_t>(output.shape.elements());
    std::vector<std::byte> integers(kSamples * output.bytes);
    engine_.engine().run(numbers_, kSamples, integers);
    std::vector<float> reals(kSamples * width);
    engine_.to_reals(integers, reals);
    std::vector<std::int32_t> found;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const auto row = std::span(reals).subspan(i * width, width);
      found.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    }
    return found;
  }

  AnswerEngine engine_;
  std::vector<std::byte> numbers_;
  Examples examples_;
};

class Systems : public SystemsOnNumbers, public testing::WithParamInterface<SystemCase> {
 protected:
  // All queries of a run of the scenario, as LoadGen asks them; what FlushQueries throws goes out.
  void ask(std::size_t queries) {
    const Scenario scenario = GetParam().scenario;
    const AnswerEngine other(channel_sums(false, kFormat),
                             {.device = "reference", .max_batch = 64});
    std::vector<const AnswerEngine*> engines = {&engine_};
    if (GetParam().has_two_devices) engines.push_back(&other);
    SystemOfTest test(GetParam(), engines, examples_);
    const std::size_t at_once = scenario == Scenario::offline        ? queries
                                : scenario == Scenario::multi_stream ? 8
                                                                     : 1;
    std::vector<mlperf::QuerySample> query(at_once);
    for (std::size_t asked = 0; asked < queries; asked += at_once) {
      for (std::size_t i = 0; i < at_once; ++i)
        query[i] = {asked + i,
                    scenario == Scenario::offline ? i % kSamples : (asked + i) * 37 % kSamples};
      for (const mlperf::QuerySample& each : query) told->wanted[each.id] = wanted_[each.index];
      test.system->IssueQuery(query);
    }
    test.system->FlushQueries();
    batches_ = test.batches();
  }

  std::vector<std::int32_t> wanted_;
  std::map<std::size_t, std::size_t> batches_;
};

TEST_P(Systems, AnswerEveryQueryOnceAndRightly) {
  Told mine(kQueries);
  told = &mine;
  wanted_ = classes();
  EXPECT_GT(std::ranges::max(wanted_), std::ranges::min(wanted_));
  ask(kQueries);
  EXPECT_TRUE(std::ranges::all_of(mine.times, [](const auto& times) { return times == 1; }));
  EXPECT_EQ(mine.wrong, 0U);
  EXPECT_EQ(mine.aborts, 0);
  std::size_t samples = 0;
  for (const auto& [size, count] : batches_) {
    samples += size * count;
    EXPECT_LE(size, 48U);
    EXPECT_TRUE(GetParam().sizes.empty() || std::ranges::count(GetParam().sizes, size) == 1)
        << size;
  }
  EXPECT_EQ(samples, kQueries);
}

// A byte that no number of the input has.
TEST_P(Systems, ThatFailAnswerAllTheSameAndEndTheRun) {
  constexpr std::size_t kFew = 960;
  Told mine(kFew);
  told = &mine;
  wanted_ = classes();
  numbers_[5 * engine_.engine().input().bytes] = std::byte{0x80};
  EXPECT_THAT(error_of([&] { ask(kFew); }), testing::HasSubstr("-128"));
  EXPECT_GE(mine.aborts, 1);
  EXPECT_GE(mine.empty, 1U);
  EXPECT_TRUE(std::ranges::all_of(mine.times, [](const auto& times) { return times <= 1; }));
}

// Nobody flushes, no lane is busy and no sample comes behind these three: the clock begins the
// batch. Twice, as it sleeps in between.
TEST_F(SystemsOnNumbers, OfServerBeginABatchWhoseTimeIsOver) {
  Told mine(6);
  told = &mine;
  mine.wanted.assign(6, classes()[1]);
  SystemOfTest test({.scenario = Scenario::server, .longest_wait = std::chrono::milliseconds(20)},
                    {&engine_}, examples_);
  for (std::size_t begin = 0; begin < 6; begin += 3) {
    for (std::size_t i = begin; i < begin + 3; ++i) test.system->IssueQuery({{i, 1}});
    while (std::ranges::any_of(std::span(mine.times).subspan(begin, 3),
                               [](const auto& times) { return times == 0; }))
      std::this_thread::yield();
  }
  test.system->FlushQueries();
  EXPECT_EQ(mine.wrong, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, Systems,
    testing::Values(SystemCase{Scenario::offline}, SystemCase{Scenario::offline, true},
                    SystemCase{Scenario::offline, false, true}, SystemCase{Scenario::server},
                    SystemCase{Scenario::server, false, true},
                    SystemCase{.scenario = Scenario::server,
                               .longest_wait = std::chrono::microseconds(100)},
                    SystemCase{.scenario = Scenario::server,
                               .has_two_devices = true,
                               .longest_wait = std::chrono::microseconds(100),
                               .sizes = {1, 2, 3, 8, 20, 48}},
                    SystemCase{Scenario::single_stream}, SystemCase{Scenario::multi_stream}),
    [](const auto& test) {
      return std::string(name_of(test.param.scenario)) +
             (test.param.runs_in_place ? "InPlace" : "") +
             (test.param.has_two_devices ? "OnTwoDevices" : "") +
             (test.param.longest_wait.count() > 0 ? "Waiting" : "") +
             (test.param.sizes.empty() ? "" : "InSomeSizes");
    });

}  // namespace
}  // namespace nibble::inline loadgen
