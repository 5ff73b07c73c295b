// SPDX-License-Identifier: Apache-2.0
// What lies between LoadGen and the network costs: samples a second of LoadGen with a system that
// answers at once, against ours, in turns: with a network that takes no time, which is a device of
// the engine that computes nothing while all around it is as always (queue, checks, samples,
// classes, answers, tables of the run), and with a network of a few additions on the CPU.
//
// usage: loadgen_overhead [SCENARIO…]    all of them without one
//
// Batches, lanes, threads and how long samples wait are planned as `nibble loadgen` plans them,
// with as many threads as there are processors.
//
// In Server the empty system answers in the thread that asks, query by query. Ours answers in a
// lane, many at a time, while LoadGen asks on: more than 1 on two processors. `taskset -c 0` lets
// both have one, so that the ratio is that of the work: of processor time, not of what runs beside.
#include <fmt/format.h>
#include <loadgen.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/stopwatch.h"
#include "engine/runner.h"
#include "inference/harness_test_support.h"
#include "loadgen/harness/batch_plan.h"
#include "loadgen/harness/load_settings.h"
#include "loadgen/harness/systems.h"
#include "nibble/core/parallel.h"

namespace nibble {
namespace {

constexpr std::size_t kSamples = 1024;
constexpr int kRounds = 7;
constexpr std::uint64_t kMilliseconds = 500;
constexpr std::size_t kMostAtOnce = 512;  // of the empty system
constexpr std::size_t kSamplesOfMultiStream = 8;
// More than LoadGen can ask, so that it never sleeps: of a million a second ours asks all on two
// processors, and the ratio would be that of the setting.
constexpr double kServerLoad = 4e6;
constexpr auto kLatencyBound = std::chrono::milliseconds(15);

// Answers with whatever lies in memory.
class IdleRunner final : public EngineRunner {
 public:
  void run(std::span<const std::byte>, std::int64_t, std::span<std::byte>) const override {}
  void run_watched(std::span<const std::byte>, std::int64_t, std::span<std::byte>,
                   const ResultWatcher&) const override {}
  const std::vector<StepInfo>& steps() const override { return steps_; }
  std::size_t weight_bytes() const override { return 0; }
  std::size_t arena_bytes() const override { return 0; }

 private:
  std::vector<StepInfo> steps_;
};

constexpr const char* kIdleDevice = "pretend";  // a name that engines have no device for

class EmptySystem final : public mlperf::SystemUnderTest {
 public:
  const std::string& Name() override { return name_; }
  // A few at a time, so that what is told stays near the processor.
  void IssueQuery(const std::vector<mlperf::QuerySample>& query) override {
    for (std::size_t begin = 0; begin < query.size(); begin += kMostAtOnce) {
      const std::size_t count = std::min(query.size() - begin, kMostAtOnce);
      responses_.clear();
      for (std::size_t i = begin; i < begin + count; ++i)
        responses_.push_back(
            {query[i].id, reinterpret_cast<std::uintptr_t>(&answer_), sizeof answer_});
      mlperf::QuerySamplesComplete(responses_.data(), responses_.size());
    }
  }
  void FlushQueries() override {}

 private:
  std::string name_ = "empty";
  std::int32_t answer_ = 0;
  std::vector<mlperf::QuerySampleResponse> responses_;
};

// Counts what it passes on, from the first question to the last answer.
class CountedSystem final : public mlperf::SystemUnderTest {
 public:
  explicit CountedSystem(mlperf::SystemUnderTest& system) : system_(system) {}
  const std::string& Name() override { return system_.Name(); }
  void IssueQuery(const std::vector<mlperf::QuerySample>& query) override {
    if (samples_ == 0) begin_ = LoadClock::now();
    samples_ += query.size();
    system_.IssueQuery(query);
  }
  void FlushQueries() override {
    system_.FlushQueries();
    end_ = LoadClock::now();
  }
  double samples_per_second() const {
    return static_cast<double>(samples_) / std::chrono::duration<double>(end_ - begin_).count();
  }

 private:
  mlperf::SystemUnderTest& system_;
  std::size_t samples_ = 0;
  LoadClock::time_point begin_;
  LoadClock::time_point end_;
};

// As a run without settings of its own has it.
PlannedEngine plan_of(Scenario scenario, const std::string& device) {
  const bool is_server = scenario == Scenario::server;
  return plan_batches(
      {.scenario = scenario,
       .threads = thread_count(),
       .samples_per_query = scenario == Scenario::multi_stream ? kSamplesOfMultiStream : 1,
       .target_qps = is_server ? kServerLoad : 0,
       .latency_bound = is_server ? kLatencyBound : std::chrono::milliseconds(0)},
      [&](EngineOptions options) {
        options.device = device;
        return std::make_unique<AnswerEngine>(channel_sums(false), options);
      });
}

double measure(Scenario scenario, mlperf::SystemUnderTest& system, SampleLibrary& samples) {
  const auto folder = std::filesystem::temp_directory_path() / "nibble_loadgen_overhead";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  mlperf::TestSettings settings;
  settings.scenario = official_scenario(scenario);
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.min_duration_ms = kMilliseconds;
  settings.min_query_count = 1;
  settings.offline_expected_qps = 5e6;
  settings.server_target_qps = kServerLoad;
  settings.server_target_latency_ns = std::chrono::nanoseconds(kLatencyBound).count();
  settings.single_stream_expected_latency_ns = 1500;
  settings.multi_stream_expected_latency_ns = 4000;
  settings.performance_sample_count_override = kSamples;
  mlperf::LogSettings logs;
  logs.log_output.outdir = folder.string();
  logs.enable_trace = false;
  CountedSystem counted(system);
  mlperf::StartTest(&counted, &samples, settings, logs, "");
  std::filesystem::remove_all(folder);
  return counted.samples_per_second();
}

void compare(Scenario scenario, const std::string& device, const Examples& examples,
             std::string_view network) {
  const PlannedEngine planned = plan_of(scenario, device);
  const AnswerEngine& engine = *planned.engine;
  const BatchPlan& plan = planned.plan;
  const auto slots = static_cast<std::size_t>(plan.lanes + (scenario == Scenario::offline ? 1 : 0));
  std::vector<double> empty;
  std::vector<double> ours;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    RunFailure failure;
    LoadMeter meter;
    SampleLibrary samples(examples, {&engine.engine()}, BufferPlace::host, plan.most_samples,
                          failure);
    BatchRunner runner({&engine}, samples, slots, 1, failure, meter);
    EmptySystem nothing;
    const auto system = make_system(scenario, {"ours", runner, samples, failure, plan});
    // Each goes first in turn: LoadGen allocates for every sample, so that the second finds another
    // heap than the first.
    if (round % 2 == 1) ours.push_back(measure(scenario, *system, samples));
    empty.push_back(measure(scenario, nothing, samples));
    if (round % 2 == 0) ours.push_back(measure(scenario, *system, samples));
    ratios.push_back(ours.back() / empty.back());
  }
  fmt::print(
      "{:<14} {:<16} empty {:>12.0f}   ours {:>12.0f}   ratio {:.3f}   batches up to {}, {} at a "
      "time on {} threads each, wait {} us\n",
      name_of(scenario), network, median(empty), median(ours), median(ratios), plan.most_samples,
      plan.lanes, plan.threads,
      std::chrono::duration_cast<std::chrono::microseconds>(plan.longest_wait).count());
  std::fflush(stdout);  // who is short of time has what was measured
}

std::vector<Scenario> scenarios_of(std::span<char*> names) {
  std::vector<Scenario> scenarios;
  for (const char* name : names) scenarios.push_back(parse_scenario(name));
  if (!scenarios.empty()) return scenarios;
  return {Scenario::offline, Scenario::server, Scenario::single_stream, Scenario::multi_stream};
}

void run(const std::vector<Scenario>& scenarios) {
  add_engine_device(
      kIdleDevice, [](const EngineProgram&, const EngineOptions&) -> std::unique_ptr<EngineRunner> {
        return std::make_unique<IdleRunner>();
      });
  Examples examples{.name = "numbers"};
  examples.indices.resize(kSamples);
  std::iota(examples.indices.begin(), examples.indices.end(), 0);
  examples.read = [](std::size_t, std::size_t, std::span<std::byte> integers) {
    std::ranges::fill(integers, std::byte{1});
  };
  fmt::print("samples/s, medians of {} rounds of {} ms in turns\n", kRounds, kMilliseconds);
  for (const auto& [device, network] :
       {std::pair(kIdleDevice, "no time"), std::pair("cpu", "a few additions")}) {
    for (const Scenario scenario : scenarios) compare(scenario, device, examples, network);
  }
}

}  // namespace
}  // namespace nibble

int main(int count, char** words) {
  nibble::run(nibble::scenarios_of(std::span(words, static_cast<std::size_t>(count)).subspan(1)));
}
