// SPDX-License-Identifier: Apache-2.0
// A program that a device has compiled. Memory, layout and threads are its own; the integers are
// the same as everybody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/program.h"
#include "engine/run_queue.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// Fills in the integers of a value, dense, as its ValueInfo has them.
using ResultReader = std::function<void(std::vector<std::byte>& values)>;

// Called for the input, then after each step, with the index of the value that it gave.
using ResultWatcher = std::function<void(std::size_t value, const ResultReader& read)>;

class EngineRunner {
 public:
  EngineRunner() = default;
  EngineRunner(const EngineRunner&) = delete;
  EngineRunner& operator=(const EngineRunner&) = delete;
  virtual ~EngineRunner() = default;

  // Whether runs themselves throw where a number is beyond the range of the input (check_range):
  // that of devices whose memory input may lie in.
  virtual bool checks_numbers() const { return false; }

  // Sizes are checked, and ranges unless checks_numbers(). Any number of threads call at once.
  virtual void run(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output) const = 0;

  // The same of examples of so many bytes that lie apart; by default they are put together first.
  virtual void run_apart(ExamplesApart examples, std::size_t bytes,
                         std::span<std::byte> output) const;

  // Takes batches while others run, `lanes` at a time; threads that call `run` where a device has
  // no better way. It goes before this runner does.
  virtual std::unique_ptr<RunQueue> make_queue(int lanes, RunFunction run) const;

  // Step by step, at most so many examples at a time as were planned for: watchers see pieces.
  virtual void run_watched(std::span<const std::byte> input, std::int64_t batch,
                           std::span<std::byte> output, const ResultWatcher& watch) const = 0;

  // As run, with seconds[i] += the time of step i: where a device has no better clock, that of the
  // host between steps.
  virtual void run_timed(std::span<const std::byte> input, std::int64_t batch,
                         std::span<std::byte> output, std::span<double> seconds) const;

  // By default memory of the host, and nothing known.
  virtual EngineBuffer allocate(std::size_t bytes, BufferPlace place) const;
  virtual EnginePeak measure_peak() const { return {}; }
  virtual std::size_t device_bytes_in_use() const { return 0; }

  // In the order of execution. A device may need fewer steps than the program has.
  virtual const std::vector<StepInfo>& steps() const = 0;

  virtual std::size_t weight_bytes() const = 0;                // as they lie in memory
  virtual std::size_t arena_bytes() const = 0;                 // of all values of one run
  virtual const TuningFile& tuning() const;                    // none, where nothing can be tuned
  virtual std::vector<ProductCut> cuts() const { return {}; }  // of layers, that are worth trying
};

// By name, as EngineOptions::device has it; throws where there is none.
std::unique_ptr<EngineRunner> compile(const EngineProgram& program, const EngineOptions& options);

// A device that is not always there adds itself before main: "cuda" is asked with "cuda:1", too.
using Compiler = std::unique_ptr<EngineRunner> (*)(const EngineProgram&, const EngineOptions&);
void add_engine_device(std::string kind, Compiler compiler);

// Programs on the CPU, by kernels of the path of instructions that is active.
std::unique_ptr<EngineRunner> make_cpu_runner(const EngineProgram& program,
                                              const EngineOptions& options);

// Programs by the definitions of their nodes, one by one: nothing is fused, nothing is fast.
std::unique_ptr<EngineRunner> make_reference_runner(const EngineProgram& program,
                                                    const EngineOptions& options);

// Two devices at once: every value that both give is compared, integer by integer.

// A runner and its name.
struct NamedRunner {
  std::string name;
  std::unique_ptr<EngineRunner> runner;
};

// Answers as the first does; throws at the first difference, naming layer, place and both integers.
std::unique_ptr<EngineRunner> make_check_runner(const EngineProgram& program, NamedRunner first,
                                                NamedRunner second);

}  // namespace nibble::inline engine
