// SPDX-License-Identifier: Apache-2.0
// The engine: a plan, and memory for as many runs as there are at a time.
#include "nibble/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "core/checked.h"
#include "engine/examples.h"
#include "engine/plan.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/core/parallel.h"
#include "nibble/core/tensor.h"
#include "nibble/graph/integer_form.h"
#include "nibble/graph/model_file.h"

namespace nibble {
namespace {

// Larger batches run in pieces of so many examples: what weights cost is shared by then, and values
// of a piece stay near the processor.
constexpr std::int64_t kPiece = 4;

// The memory of one run at a time.
struct Workspace {
  Workspace(const EnginePlan& plan, int workers, int arenas_wanted)
      : crew(workers), alone(1), marks(static_cast<std::size_t>(workers)) {
    for (int a = 0; a < arenas_wanted; ++a) {
      arenas.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(plan.arena_bytes)});
    }
    for (int w = 0; w < workers; ++w) {
      scratch.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(plan.scratch_bytes + 64)});
      pointers.push_back(scratch.back().data());
    }
  }

  // All workers on one piece of a batch.
  RunFrame together(std::int64_t batch) { return {arenas[0].data(), batch, crew, pointers, marks}; }
  // One worker on a piece of its own.
  RunFrame apart(std::size_t worker, std::int64_t batch) {
    return {arenas[worker].data(), batch, alone, std::span(pointers).subspan(worker, 1),
            std::span(marks).subspan(worker, 1)};
  }

  Crew crew;
  Crew alone;
  std::vector<Tensor> arenas;
  std::vector<std::int64_t> marks;
  std::vector<Tensor> scratch;
  std::vector<std::byte*> pointers;
};

// Of all weights, and of a workspace.
std::int64_t memory_of(const EnginePlan& plan, int workers, int arenas) {
  const auto times = [](int count, std::size_t bytes) {
    return checked_product(static_cast<std::int64_t>(count), static_cast<std::int64_t>(bytes));
  };
  return checked_sum(static_cast<std::int64_t>(plan.weight_bytes), times(arenas, plan.arena_bytes),
                     times(workers, plan.scratch_bytes));
}

}  // namespace

struct Engine::Parts {
  std::string name;
  TuningFile tuning;
  EnginePlan plan;
  EngineOptions options;
  int workers = 1;
  int arenas = 1;  // of one run: as many pieces of a batch may run at a time
  std::vector<StepInfo> infos;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Workspace>> free;

  std::unique_ptr<Workspace> take() const {
    {
      const std::lock_guard lock(mutex);
      if (!free.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(free.back());
        free.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>(plan, workers, arenas);
  }
  void give(std::unique_ptr<Workspace> workspace) const {
    const std::lock_guard lock(mutex);
    free.push_back(std::move(workspace));
  }

  const Place& place_of(std::size_t node) const { return plan.places[node]; }

  // after_step(i) may look at the arena.
  template <class AfterStep>
  void run_piece(const RunFrame& frame, const std::byte* input, const AfterStep& after_step) const {
    load_examples(place_of(plan.input), plan.entry, input, frame.batch, frame.arena);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      plan.steps[i]->run(frame);
      after_step(i);
    }
  }

  // Examples first to first + frame.batch.
  template <class AfterStep>
  void run_examples(const RunFrame& frame, std::int64_t first, std::span<const std::byte> input,
                    std::span<std::byte> output, const AfterStep& after_step) const {
    const auto at = static_cast<std::size_t>(first);
    run_piece(frame, input.data() + at * plan.entry.bytes, after_step);
    store_examples(place_of(plan.output), plan.values[plan.output], frame.arena, frame.batch,
                   output.data() + at * plan.values[plan.output].bytes);
  }

  // Pieces one after another, each by all workers.
  template <class AfterStep>
  void run_together(std::span<const std::byte> input, std::int64_t batch,
                    std::span<std::byte> output, const AfterStep& after_step) const {
    std::unique_ptr<Workspace> workspace = take();
    for (std::int64_t done = 0; done < batch; done += options.max_batch) {
      const std::int64_t piece = std::min(options.max_batch, batch - done);
      run_examples(workspace->together(piece), done, input, output, after_step);
    }
    give(std::move(workspace));
  }

  // Pieces side by side, each by one worker: nobody waits for others within a piece.
  void run_apart(std::span<const std::byte> input, std::int64_t batch,
                 std::span<std::byte> output) const {
    const std::int64_t pieces =
        std::max<std::int64_t>(workers, (batch + options.max_batch - 1) / options.max_batch);
    std::unique_ptr<Workspace> workspace = take();
    workspace->crew.run(pieces, [&](int worker, std::int64_t piece) {
      const std::int64_t first = batch * piece / pieces;
      const std::int64_t count = batch * (piece + 1) / pieces - first;
      run_examples(workspace->apart(static_cast<std::size_t>(worker), count), first, input, output,
                   [](std::size_t) {});
    });
    give(std::move(workspace));
  }

  void check_run(std::span<const std::byte> input, std::int64_t batch,
                 std::span<std::byte> output) const {
    check_input(input, batch);
    check_size(output.size(), batch, "output", plan.values[plan.output].bytes);
  }

  void check_input(std::span<const std::byte> bytes, std::int64_t batch) const {
    const ValueInfo& info = plan.entry;
    check_size(bytes.size(), batch, "input", info.bytes);
    check_range(bytes, info);
  }

  static void check_size(std::size_t bytes, std::int64_t batch, std::string_view what,
                         std::size_t each) {
    if (batch < 1) throw Error("engine", "batch", std::to_string(batch), "1 or more");
    if (bytes % each == 0 && bytes / each == static_cast<std::size_t>(batch)) return;
    throw Error("engine", what, fmt::format("{} bytes", bytes),
                fmt::format("{} examples of {} bytes", batch, each));
  }
};

Engine::Engine(Model model, const EngineOptions& options) : parts_(std::make_unique<Parts>()) {
  if (options.max_batch < 1 || options.max_batch > 65536)
    throw Error("engine", "max_batch", std::to_string(options.max_batch), "1 to 65536");
  if (options.threads < 0 || options.threads > kMostThreads)
    throw Error("engine", "threads", std::to_string(options.threads),
                fmt::format("0 to {}", kMostThreads));
  const LimitsScope scope(options.limits);
  parts_->name = model.network.name;
  parts_->options = options;
  parts_->workers = options.threads > 0 ? options.threads : thread_count();
  Model form = integer_form(std::move(model));
  parts_->options.threads = parts_->workers;
  parts_->tuning = options.tuning != nullptr
                       ? TuningFile{.state = TuningFile::State::given, .tuning = *options.tuning}
                       : find_tuning(parts_->workers);
  parts_->options.tuning = &parts_->tuning.tuning;
  if (!options.keeps_layers) {
    if (options.max_batch >= 2 * parts_->workers) parts_->arenas = parts_->workers;
    parts_->options.max_batch = std::min(options.max_batch, kPiece);
  }
  parts_->plan = plan_engine(form, parts_->options);
  check_limit("memory", memory_of(parts_->plan, parts_->workers, parts_->arenas), "engine",
              "bytes of weights and of one run");
  for (const auto& step : parts_->plan.steps) parts_->infos.push_back(step->info());
  parts_->free.reserve(64);
  parts_->give(parts_->take());
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
  return parts_->plan.entry;
}
const ValueInfo& Engine::output() const {
  return parts_->plan.values[parts_->plan.output];
}
const std::vector<StepInfo>& Engine::steps() const {
  return parts_->infos;
}
const TuningFile& Engine::tuning() const {
  return parts_->tuning;
}
std::size_t Engine::weight_bytes() const {
  return parts_->plan.weight_bytes;
}
std::size_t Engine::arena_bytes() const {
  return parts_->plan.arena_bytes * static_cast<std::size_t>(parts_->arenas);
}

void Engine::run(std::span<const std::byte> input, std::int64_t batch,
                 std::span<std::byte> output) const {
  parts_->check_run(input, batch, output);
  if (parts_->arenas > 1 && batch >= 2 * parts_->workers) {
    parts_->run_apart(input, batch, output);
  } else {
    parts_->run_together(input, batch, output, [](std::size_t) {});
  }
}

void Engine::run_timed(std::span<const std::byte> input, std::int64_t batch,
                       std::span<std::byte> output, std::span<double> seconds) const {
  using Clock = std::chrono::steady_clock;
  parts_->check_run(input, batch, output);
  auto last = Clock::now();
  parts_->run_together(input, batch, output, [&](std::size_t step) {
    const auto now = Clock::now();
    seconds[step] += std::chrono::duration<double>(now - last).count();
    last = now;
  });
}

void Engine::run_layers(std::span<const std::byte> input, std::int64_t batch,
                        const LayerVisitor& visit) const {
  const EnginePlan& plan = parts_->plan;
  if (!parts_->options.keeps_layers || batch > parts_->options.max_batch)
    throw Error("engine", "layers", "an engine that fuses, or a larger batch",
                "keeps_layers, max_batch");
  parts_->check_input(input, batch);
  std::unique_ptr<Workspace> workspace = parts_->take();
  const RunFrame frame = workspace->together(batch);
  parts_->run_piece(frame, input.data(), [](std::size_t) {});
  std::vector<std::byte> values;
  for (std::size_t node = 0; node < plan.places.size(); ++node) {
    values.resize(plan.values[node].bytes * static_cast<std::size_t>(batch));
    store_examples(plan.places[node], plan.values[node], frame.arena, batch, values.data());
    visit(plan.values[node], values);
  }
  parts_->give(std::move(workspace));
}

}  // namespace nibble
