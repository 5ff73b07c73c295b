// SPDX-License-Identifier: Apache-2.0
// The engine: a program, compiled for a device.
#include "nibble/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "engine/input_range.h"
#include "engine/pending_states.h"
#include "engine/program.h"
#include "engine/runner.h"
#include "graph/integer_form.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"

namespace nibble::inline engine {
namespace {

void check_size(std::size_t bytes, std::int64_t batch, std::string_view what, std::size_t each) {
  if (batch < 1) throw Error("engine", "batch", std::to_string(batch), "1 or more");
  // Without a division: small batches are asked for a million times a second.
  std::size_t expected = 0;
  const bool is_too_much = __builtin_mul_overflow(static_cast<std::size_t>(batch), each, &expected);
  if (bytes == expected && !is_too_much) return;
  throw Error("engine", what, fmt::format("{} bytes", bytes),
              fmt::format("{} examples of {} bytes", batch, each));
}

void check_options(const EngineOptions& options) {
  if (options.max_batch < 1 || options.max_batch > 65536)
    throw Error("engine", "max_batch", std::to_string(options.max_batch), "1 to 65536");
  if (options.threads < 0 || options.threads > kMostThreads)
    throw Error("engine", "threads", std::to_string(options.threads),
                fmt::format("0 to {}", kMostThreads));
  if (options.lanes < 1 || options.lanes > kMostThreads)
    throw Error("engine", "lanes", std::to_string(options.lanes),
                fmt::format("1 to {}", kMostThreads));
}

}  // namespace

struct Engine::Parts {
  std::string name;
  bool keeps_layers = false;
  std::int64_t max_batch = 1;
  std::vector<ValueInfo> values;  // by node
  ValueInfo entry;
  std::unique_ptr<EngineRunner> runner;
  std::shared_ptr<PendingStates> pending = std::make_shared<PendingStates>();
  int lanes = 1;
  std::once_flag has_queue;
  std::unique_ptr<RunQueue> queue;  // made when it is first needed; it uses all of the above

  RunQueue& the_queue() {
    std::call_once(has_queue, [&] {
      queue = runner->make_queue(lanes, [this](const SubmittedRun& run) {
        if (!run.apart.empty()) return run_apart(run.apart, run.output);
        check_numbers(run.input);
        runner->run(run.input, run.batch, run.output);
      });
    });
    return *queue;
  }

  void run_apart(ExamplesApart examples, std::span<std::byte> output) const {
    for (const std::byte* each : examples) check_numbers({each, entry.bytes});
    runner->run_apart(examples, entry.bytes, output);
  }

  void check_sizes(ExamplesApart examples, std::span<std::byte> output) const {
    check_size(output.size(), static_cast<std::int64_t>(examples.size()), "output",
               values.back().bytes);
  }
  void check_sizes(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output) const {
    check_size(input.size(), batch, "input", entry.bytes);
    check_size(output.size(), batch, "output", values.back().bytes);
  }
  void check_numbers(std::span<const std::byte> input) const {
    if (!runner->checks_numbers()) check_range(input, entry);
  }
  void check_input(std::span<const std::byte> bytes, std::int64_t batch) const {
    check_size(bytes.size(), batch, "input", entry.bytes);
    check_numbers(bytes);
  }
  void check_run(std::span<const std::byte> input, std::int64_t batch,
                 std::span<std::byte> output) const {
    check_sizes(input, batch, output);
    check_numbers(input);
  }
};

Engine::Engine(Model model, const EngineOptions& options) : parts_(std::make_unique<Parts>()) {
  check_options(options);
  const LimitsScope scope(options.limits);
  parts_->name = model.network.name;
  parts_->keeps_layers = options.keeps_layers;
  parts_->max_batch = options.max_batch;
  parts_->lanes = options.lanes;
  const EngineProgram program = make_program(integer_form(std::move(model)), !options.keeps_layers);
  for (const ProgramValue& value : program.values) parts_->values.push_back(value.info);
  parts_->entry = program.entry;
  parts_->runner = compile(program, options);
}

Engine Engine::load(const std::filesystem::path& path, const EngineOptions& options) {
  const LimitsScope scope(options.limits);
  return Engine(read_model(path).model, options);
}

Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const std::string& Engine::name() const {
  return parts_->name;
}
const ValueInfo& Engine::input() const {
  return parts_->entry;
}
const ValueInfo& Engine::output() const {
  return parts_->values.back();
}
const std::vector<StepInfo>& Engine::steps() const {
  return parts_->runner->steps();
}
std::vector<ProductCut> Engine::cuts() const {
  return parts_->runner->cuts();
}

const TuningFile& Engine::tuning() const {
  return parts_->runner->tuning();
}
EngineBuffer Engine::allocate(std::size_t bytes, BufferPlace place) const {
  return parts_->runner->allocate(bytes, place);
}
EnginePeak Engine::measure_peak() const {
  return parts_->runner->measure_peak();
}
std::size_t Engine::device_bytes_in_use() const {
  return parts_->runner->device_bytes_in_use();
}
std::size_t Engine::weight_bytes() const {
  return parts_->runner->weight_bytes();
}
std::size_t Engine::arena_bytes() const {
  return parts_->runner->arena_bytes();
}

void Engine::run(std::span<const std::byte> input, std::int64_t batch,
                 std::span<std::byte> output) const {
  parts_->check_run(input, batch, output);
  parts_->runner->run(input, batch, output);
}

void Engine::submit(std::span<const std::byte> input, std::int64_t batch,
                    std::span<std::byte> output, Completion done) const {
  parts_->check_sizes(input, batch, output);
  parts_->the_queue().submit({input, batch, output, std::move(done)});
}

PendingRun Engine::submit(std::span<const std::byte> input, std::int64_t batch,
                          std::span<std::byte> output) const {
  parts_->check_sizes(input, batch, output);
  RunQueue& queue = parts_->the_queue();
  PendingRun pending(parts_->pending);
  PendingState* state = pending.state_;
  try {
    queue.submit({input, batch, output,
                  [state](std::exception_ptr error) { state->end(std::move(error)); }});
  } catch (...) {
    state->end(nullptr);  // nobody else will
    throw;
  }
  return pending;
}

void Engine::run(ExamplesApart examples, std::span<std::byte> output) const {
  parts_->check_sizes(examples, output);
  parts_->run_apart(examples, output);
}

void Engine::submit(ExamplesApart examples, std::span<std::byte> output, Completion done) const {
  parts_->check_sizes(examples, output);
  parts_->the_queue().submit({.output = output, .done = std::move(done), .apart = examples});
}

void Engine::run_timed(std::span<const std::byte> input, std::int64_t batch,
                       std::span<std::byte> output, std::span<double> seconds) const {
  parts_->check_run(input, batch, output);
  parts_->runner->run_timed(input, batch, output, seconds);
}

void Engine::run_layers(std::span<const std::byte> input, std::int64_t batch,
                        const LayerVisitor& visit) const {
  if (!parts_->keeps_layers) throw Error("engine", "keeps_layers", "false", "true");
  if (batch > parts_->max_batch)
    throw Error("engine", "batch", std::to_string(batch),
                fmt::format("at most max_batch, {}", parts_->max_batch));
  parts_->check_input(input, batch);
  // A device may take fewer examples at a time: each layer's are put together.
  std::vector<std::vector<std::byte>> layers(parts_->values.size());
  std::vector<std::byte> answers(output().bytes * static_cast<std::size_t>(batch));
  std::vector<std::byte> piece;
  parts_->runner->run_watched(
      input, batch, answers, [&](std::size_t value, const ResultReader& read) {
        read(piece);
        layers[value].insert(layers[value].end(), piece.begin(), piece.end());
      });
  for (std::size_t i = 0; i < layers.size(); ++i) visit(parts_->values[i], layers[i]);
}

}  // namespace nibble::inline engine
