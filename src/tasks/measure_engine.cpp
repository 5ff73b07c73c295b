// SPDX-License-Identifier: Apache-2.0
// Times runs, then steps, and checks that the answers stay.
#include "tasks/measure_engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <vector>

#include "core/hash.h"
#include "core/isa.h"
#include "kernels/products/peak.h"
#include "nibble/core/error.h"
#include "tasks/json.h"
#include "tasks/random_examples.h"

namespace nibble::inline tasks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Measurement {
  std::vector<double> times;         // of runs, sorted, in seconds
  std::vector<double> step_seconds;  // of one run, median
  double peak = 0;                   // GOP/s of the machine on as many threads
  double peak_bytes = 0;             // GB/s of copying; 0: not known
  std::string isa;
  double from_host = 0;    // images/s with several batches on their way; 0: not measured
  double from_device = 0;  // the same with examples in the device's memory
  std::uint64_t answers_hash = 0;

  double at(double share) const {
    const auto last = static_cast<double>(times.size() - 1);
    return times[static_cast<std::size_t>(share * last + 0.5)];
  }
};

// Batches that are submitted again as soon as they have ended, until time is up.
class BatchesInTurn {
 public:
  BatchesInTurn(const Engine& engine, std::span<const std::byte> input, std::int64_t batch,
                std::vector<EngineBuffer>& answers)
      : engine_(engine), input_(input), batch_(batch), answers_(answers) {}

  // Images a second, of at least five batches for each of the answers.
  double run(double seconds) {
    const auto start = Clock::now();
    end_ =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    count_ = 0;
    running_ = answers_.size();
    for (std::size_t i = 0; i < answers_.size(); ++i) submit(i);
    std::unique_lock lock(mutex_);
    has_ended_.wait(lock, [this] { return running_ == 0; });
    if (error_) std::rethrow_exception(error_);
    return static_cast<double>(count_ * batch_) / seconds_since(start);
  }

 private:
  void submit(std::size_t i) {
    ++count_;
    engine_.submit(input_, batch_, answers_[i].bytes(), [this, i](std::exception_ptr error) {
      const bool is_enough = count_ >= static_cast<std::int64_t>(5 * answers_.size());
      if (!error && (Clock::now() < end_ || !is_enough)) return submit(i);
      const std::lock_guard lock(mutex_);
      if (error) error_ = error;
      if (--running_ == 0) has_ended_.notify_one();
    });
  }

  const Engine& engine_;
  std::span<const std::byte> input_;
  std::int64_t batch_;
  std::vector<EngineBuffer>& answers_;
  Clock::time_point end_;
  std::atomic<std::int64_t> count_{0};
  std::mutex mutex_;
  std::condition_variable has_ended_;
  std::size_t running_ = 0;
  std::exception_ptr error_;
};

// Images a second with as many batches on their way as there are lanes, answers in the host's
// memory. Throws where these are others than `wanted`.
double throughput(const Engine& engine, const MeasureOptions& options, BufferPlace place,
                  std::span<const std::byte> examples, std::span<const std::byte> wanted) {
  const EngineBuffer input = engine.allocate(examples.size(), place);
  input.write(examples);
  std::vector<EngineBuffer> answers;
  for (int lane = 0; lane < options.lanes; ++lane)
    answers.push_back(engine.allocate(wanted.size(), BufferPlace::host));
  BatchesInTurn batches(engine, input.bytes(), options.batch, answers);
  (void)batches.run(0);  // every lane makes its memory
  const double speed = batches.run(options.seconds);
  for (const EngineBuffer& each : answers) {
    if (!std::ranges::equal(each.bytes(), wanted))
      throw Error("bench", "answers", "others", "the same in every run", ErrorKind::internal);
  }
  return speed;
}

Measurement measure(const Engine& engine, const MeasureOptions& options) {
  const std::vector<std::byte> examples = random_examples(engine.input(), options.batch);
  const EngineBuffer buffer = engine.allocate(examples.size(), BufferPlace::host);
  buffer.write(examples);
  const std::span<const std::byte> input = buffer.bytes();
  std::vector<std::byte> answers(engine.output().bytes * static_cast<std::size_t>(options.batch));
  Measurement result;
  result.step_seconds.resize(engine.steps().size());
  engine.run(input, options.batch, answers);
  result.isa = name_of(last_isa_used());
  Hasher hasher;
  hasher.add(answers);
  result.answers_hash = hasher.value();

  const EnginePeak known = engine.measure_peak();
  result.peak = 1e-9 * known.operations;
  result.peak_bytes = 1e-9 * known.bytes;
  if (!known.instructions.empty()) result.isa = known.instructions;
  if (options.lanes > 1) {
    result.from_host = throughput(engine, options, BufferPlace::host, examples, answers);
    result.from_device = throughput(engine, options, BufferPlace::device, examples, answers);
  }
  const auto start = Clock::now();
  for (int i = 0; i < 50 && known.instructions.empty(); ++i)
    result.peak = std::max(result.peak, 1e-9 * peak_of_threads(last_isa_used()));
  while (result.times.size() < 5 || seconds_since(start) < options.seconds) {
    const auto begin = Clock::now();
    engine.run(input, options.batch, answers);
    result.times.push_back(seconds_since(begin));
  }
  std::ranges::sort(result.times);
  const int rounds =
      static_cast<int>(std::clamp(0.3 * options.seconds / result.at(0.5), 5.0, 50.0));
  std::vector<std::vector<double>> by_step(engine.steps().size());
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> seconds(engine.steps().size());
    engine.run_timed(input, options.batch, answers, seconds);
    for (std::size_t k = 0; k < seconds.size(); ++k) by_step[k].push_back(seconds[k]);
  }
  for (std::size_t k = 0; k < by_step.size(); ++k) {
    std::ranges::sort(by_step[k]);
    result.step_seconds[k] = by_step[k][by_step[k].size() / 2];
  }
  Hasher again;
  again.add(answers);
  if (again.value() != result.answers_hash)
    throw Error("bench", "answers", "others", "the same in every run", ErrorKind::internal);
  return result;
}

double total_macs(const Engine& engine) {
  return std::accumulate(
      engine.steps().begin(), engine.steps().end(), 0.0,
      [](double sum, const StepInfo& step) { return sum + static_cast<double>(step.macs); });
}

// Which tuning the engine found, and how many of its steps it cuts.
Json tuning_of(const Engine& engine) {
  const TuningFile& tuning = engine.tuning();
  const auto steps = std::ranges::count_if(engine.steps(), [&](const StepInfo& step) {
    return tuning.tuning.cuts.contains(step.shape);
  });
  return {{"file", tuning.to_string()},
          {"is_active", tuning.state == TuningFile::State::active},
          {"steps", steps}};
}

Json json_of(const Engine& engine, const MeasureOptions& options, const Measurement& m) {
  const auto batch = static_cast<double>(options.batch);
  const double gops = 2e-9 * total_macs(engine) * batch / m.at(0.5);
  Json steps = Json::array();
  for (std::size_t i = 0; i < m.step_seconds.size(); ++i) {
    const StepInfo& step = engine.steps()[i];
    steps.push_back(
        {{"name", step.name},
         {"kind", step.kind},
         {"shape", step.shape},
         {"ms", 1e3 * m.step_seconds[i]},
         {"gops", 2e-9 * static_cast<double>(step.macs) * batch / m.step_seconds[i]},
         {"gbytes", 1e-9 * static_cast<double>(step.bytes) * batch / m.step_seconds[i]}});
  }
  return {{"model", engine.name()},
          {"batch", options.batch},
          {"device", options.device},
          {"threads", options.threads},
          {"isa", m.isa},
          {"tuning", tuning_of(engine)},
          {"images_per_second", batch / m.at(0.5)},
          {"median_ms", 1e3 * m.at(0.5)},
          {"least_ms", 1e3 * m.at(0)},
          {"p90_ms", 1e3 * m.at(0.9)},
          {"p99_ms", 1e3 * m.at(0.99)},
          {"runs", m.times.size()},
          {"throughput",
           {{"lanes", options.lanes}, {"from_host", m.from_host}, {"from_device", m.from_device}}},
          {"gops", gops},
          {"peak_gops", m.peak},
          {"peak_gbytes", m.peak_bytes},
          {"share_of_peak", m.peak > 0 ? gops / m.peak : 0},
          {"weight_bytes", engine.weight_bytes()},
          {"arena_bytes", engine.arena_bytes()},
          {"answers", hex(m.answers_hash)},
          {"steps", std::move(steps)}};
}

}  // namespace

std::string measure_engine(const Engine& engine, const MeasureOptions& options) {
  return json_of(engine, options, measure(engine, options)).dump();
}

}  // namespace nibble::inline tasks
