// SPDX-License-Identifier: Apache-2.0
// integer_bench step and memory: what a whole step takes.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "bench/float_steps.h"
#include "bench/integer_bench.h"
#include "bench/integer_runner.h"
#include "bench/stopwatch.h"
#include "core/isa.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/integer_training/train_integers.h"
#include "run_folder/provenance.h"

namespace nibble {
namespace {

constexpr int kMemorySteps = 2;  // the first one sizes all buffers

// Whether two steps of some images move the weights as the portable path does.
bool is_right(const IntegerBenchOptions& options) {
  const auto hash = [&] {
    IntegerRunner runner(options.network, std::min<std::int64_t>(options.batch, 16), options.shifts,
                         true);
    runner.step();
    runner.step();
    return runner.weights_hash();
  };
  const std::uint64_t fast = hash();
  set_isa(Isa::portable);
  const std::uint64_t slow = hash();
  reset_isa();
  return fast == slow;
}

// MiB of a child process of this program that runs steps of one arithmetic.
double memory_of(const std::string& arithmetic, const IntegerBenchOptions& options) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("integer_bench", "pipe", "an error", "two ends");
  const std::string batch = std::to_string(options.batch);
  const std::string threads = std::to_string(thread_count());
  const std::string shifts(name_of(options.shifts));
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execl("/proc/self/exe", "integer_bench", "--tell-memory", arithmetic.c_str(),
            options.network.c_str(), "--batch", batch.c_str(), "--threads", threads.c_str(),
            "--shifts", shifts.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char part[64];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  if (child < 0 || status != 0)
    throw Error("integer_bench", "child process", "status " + std::to_string(status), "0");
  return std::strtod(text.c_str(), nullptr);
}

}  // namespace

bool measure_step(const IntegerBenchOptions& options) {
  constexpr int kWarmUp = 3;
  IntegerRunner runner(options.network, options.batch, options.shifts, true);
  runner.median_seconds(kWarmUp);
  runner.forget_guesses();
  std::vector<double> times;
  for (int i = 0; i < options.steps; ++i) times.push_back(seconds_of([&] { runner.step(); }));
  const IntegerRunner::Roundings roundings = runner.roundings();
  const bool right = is_right(options);
  const double middle = median(times);
  fmt::print(
      "{:<20} batch {:>3}, {} shifts: {:.3f} ms a step (least {:.3f}), {:.0f} images/s, "
      "{:.1f} GOP/s\n",
      options.network, options.batch, name_of(options.shifts), 1e3 * middle,
      1e3 * std::ranges::min(times), static_cast<double>(options.batch) / middle,
      1e-9 * runner.operations() / middle);
  fmt::print(
      "  {} of {} guessed shifts missed ({:.1f} %), {:.4f} % of values cut to ±127 in the last "
      "step, {:.1f} MiB of values and errors, loss {:.3f}{}\n",
      roundings.misses, roundings.guesses,
      100.0 * static_cast<double>(roundings.misses) /
          static_cast<double>(std::max<std::int64_t>(roundings.guesses, 1)),
      100.0 * static_cast<double>(roundings.saturated) /
          static_cast<double>(std::max<std::int64_t>(roundings.elements, 1)),
      static_cast<double>(runner.peak_bytes()) / (1024.0 * 1024.0), runner.loss(),
      right ? "" : "  WRONG: the portable path moves the weights elsewhere");
  return right;
}

bool measure_memory(const IntegerBenchOptions& options) {
  const double integers = memory_of("int8", options);
  fmt::print("{}, batch {}: int8 training takes {:.1f} MiB", options.network, options.batch,
             integers);
  if (has_float_training()) {
    const double floats = memory_of("fp32", options);
    fmt::print(", fp32 training {:.1f} MiB: {:.1f} %", floats, 100 * integers / floats);
  }
  fmt::print("\n");
  return true;
}

// The most that was resident, of this program alone: getrusage would count what ran before exec.
void tell_memory(const std::string& arithmetic, const IntegerBenchOptions& options) {
  const double before = peak_memory_mib();
  if (arithmetic == "fp32") {
    run_float_steps(options.network, options.batch, kMemorySteps);
  } else {
    IntegerRunner runner(options.network, options.batch, options.shifts, true);
    runner.median_seconds(kMemorySteps);
  }
  fmt::print("{:.6g}\n", peak_memory_mib() - before);
}

}  // namespace nibble
