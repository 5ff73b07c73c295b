// SPDX-License-Identifier: Apache-2.0
// What lies between LoadGen and the engine costs: queries a second of LoadGen with a system that
// answers at once, against ours with a network of a few additions, in turns.
#include <fmt/format.h>
#include <loadgen.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "inference/harness_test_support.h"
#include "loadgen/harness/systems.h"

namespace nibble {
namespace {

constexpr std::size_t kSamples = 1024;
constexpr int kRounds = 3;
constexpr std::uint64_t kMilliseconds = 700;

class EmptySystem final : public mlperf::SystemUnderTest {
 public:
  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& query) override {
    responses_.clear();
    for (const mlperf::QuerySample& each : query)
      responses_.push_back({each.id, reinterpret_cast<std::uintptr_t>(&answer_), sizeof answer_});
    mlperf::QuerySamplesComplete(responses_.data(), responses_.size());
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

double measure(Scenario scenario, mlperf::SystemUnderTest& system, SampleLibrary& samples) {
  const auto folder = std::filesystem::temp_directory_path() / "nibble_loadgen_overhead";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  mlperf::TestSettings settings;
  settings.scenario = scenario == Scenario::offline         ? mlperf::TestScenario::Offline
                      : scenario == Scenario::single_stream ? mlperf::TestScenario::SingleStream
                                                            : mlperf::TestScenario::MultiStream;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.min_duration_ms = kMilliseconds;
  settings.min_query_count = 1;
  settings.offline_expected_qps = 5e6;
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

// Seconds that the engine itself takes for a sample of such a batch.
double engine_seconds(const Engine& engine, std::size_t batch) {
  const std::vector<std::byte> input(batch * engine.input().bytes, std::byte{1});
  std::vector<std::byte> output(batch * engine.output().bytes);
  constexpr int kRuns = 200'000;
  const auto start = LoadClock::now();
  for (int i = 0; i < kRuns; ++i) engine.run(input, static_cast<std::int64_t>(batch), output);
  const double seconds = std::chrono::duration<double>(LoadClock::now() - start).count();
  return seconds / kRuns / static_cast<double>(batch);
}

void run() {
  Examples examples{.name = "numbers"};
  examples.indices.resize(kSamples);
  std::iota(examples.indices.begin(), examples.indices.end(), 0);
  examples.read = [](std::size_t, std::size_t, std::span<std::byte> integers) {
    std::ranges::fill(integers, std::byte{1});
  };
  const AnswerEngine engine(channel_sums(false), {.max_batch = 512, .threads = 1, .lanes = 1});
  fmt::print("samples/s, medians of {} rounds of {} ms in turns\n", kRounds, kMilliseconds);
  for (const Scenario scenario :
       {Scenario::offline, Scenario::single_stream, Scenario::multi_stream}) {
    std::vector<double> empty;
    std::vector<double> ours;
    std::vector<double> ratios;
    for (int round = 0; round < kRounds; ++round) {
      RunFailure failure;
      LoadMeter meter;
      const BatchPlan plan{.most_samples = scenario == Scenario::offline         ? 512U
                                           : scenario == Scenario::single_stream ? 1U
                                                                                 : 8U};
      SampleLibrary samples(examples, engine.engine(), BufferPlace::host, plan.most_samples,
                            failure);
      BatchRunner runner(engine, samples, 2, 1, failure, meter);
      EmptySystem nothing;
      empty.push_back(measure(scenario, nothing, samples));
      const auto system = make_system(scenario, {"ours", runner, samples, failure, plan});
      ours.push_back(measure(scenario, *system, samples));
      ratios.push_back(ours.back() / empty.back());
    }
    const auto median = [](std::vector<double> values) {
      std::ranges::sort(values);
      return values[values.size() / 2];
    };
    fmt::print("{:<14} empty {:>12.0f}   ours {:>12.0f}   ratio {:.3f}", name_of(scenario),
               median(empty), median(ours), median(ratios));
    if (scenario == Scenario::offline) {  // whose batches run in another thread
      fmt::print("\n");
      continue;
    }
    const double engine_own =
        engine_seconds(engine.engine(), scenario == Scenario::single_stream ? 1 : 8);
    fmt::print("   without the engine's own time {:.3f}\n",
               1 / median(empty) / (1 / median(ours) - engine_own));
  }
}

}  // namespace
}  // namespace nibble

int main() {
  nibble::run();
}
