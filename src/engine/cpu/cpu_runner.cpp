// SPDX-License-Identifier: Apache-2.0
// Runs a plan, with memory for as many runs as there are at a time.
#include "engine/runner.h"

#include <algorithm>
#include <mutex>

#include "core/checked.h"
#include "engine/cpu/compile.h"
#include "engine/cpu/examples.h"
#include "nibble/core/limits.h"
#include "nibble/core/parallel.h"
#include "nibble/core/tensor.h"

namespace nibble::inline engine {
namespace {

// Larger batches run in pieces of so many examples: what weights cost is shared by then, and values
// of a piece stay near the processor.
constexpr std::int64_t kPiece = 4;
// Where products are matrices, weights cost less than values that leave the second cache: examples
// whose values would not stay in so many bytes run one by one.
constexpr std::int64_t kNearBytes = 2 << 20;

// The most numbers that a step of one example reads and writes.
std::int64_t most_numbers_at_once(const EngineProgram& program) {
  std::int64_t most = 0;
  for (const ProgramStep& step : program.steps) {
    std::vector<std::size_t> values = step.reads();
    values.push_back(step.output);
    std::int64_t numbers = 0;
    for (const std::size_t value : values) {
      const Picture& picture = program.values[value].picture;
      numbers = checked_sum(numbers, picture.height * picture.width * picture.channels);
    }
    most = std::max(most, numbers);
  }
  return most;
}

std::int64_t largest_piece(const EngineProgram& program) {
  const bool is_near = most_numbers_at_once(program) <= kNearBytes / kPiece;
  return engine_kernels().multiply_matrix == nullptr || is_near ? kPiece : 1;
}

// The memory of one run at a time.
struct Workspace {
  Workspace(const CpuPlan& plan, int workers, int arenas_wanted)
      : team(workers), alone(1), marks(static_cast<std::size_t>(workers)) {
    for (int a = 0; a < arenas_wanted; ++a) {
      arenas.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(plan.arena_bytes)});
    }
    for (int w = 0; w < workers; ++w) {
      scratch.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(plan.scratch_bytes + 64)});
      pointers.push_back(scratch.back().data());
    }
  }

  // All workers on one piece of a batch.
  RunFrame together(std::int64_t batch) { return {arenas[0].data(), batch, team, pointers, marks}; }
  // One worker on a piece of its own.
  RunFrame apart(std::size_t worker, std::int64_t batch) {
    return {arenas[worker].data(), batch, alone, std::span(pointers).subspan(worker, 1),
            std::span(marks).subspan(worker, 1)};
  }

  ThreadTeam team;
  ThreadTeam alone;
  std::vector<Tensor> arenas;
  std::vector<std::int64_t> marks;
  std::vector<Tensor> scratch;
  std::vector<std::byte*> pointers;
};

// Of all weights, and of a workspace.
std::int64_t memory_of(const CpuPlan& plan, int workers, int arenas) {
  const auto times = [](int count, std::size_t bytes) {
    return checked_product(static_cast<std::int64_t>(count), static_cast<std::int64_t>(bytes));
  };
  return checked_sum(static_cast<std::int64_t>(plan.weight_bytes), times(arenas, plan.arena_bytes),
                     times(workers, plan.scratch_bytes));
}

class CpuRunner final : public EngineRunner {
 public:
  CpuRunner(const EngineProgram& program, EngineOptions options)
      : workers_(options.threads > 0 ? options.threads : thread_count()) {
    tuning_ = tuning_of(machine_name(workers_), options.tuning);
    if (!options.keeps_layers) {
      if (options.max_batch >= 2 * workers_) arenas_ = workers_;
      options.max_batch = std::min(options.max_batch, largest_piece(program));
    }
    max_batch_ = options.max_batch;
    plan_ = compile_for_cpu(program, options, tuning_.tuning);
    check_limit("memory", memory_of(plan_, workers_, arenas_), "engine",
                "bytes of weights and of one run");
    free_.reserve(64);
    give(take());
  }

  void run(std::span<const std::byte> input, std::int64_t batch,
           std::span<std::byte> output) const override {
    if (arenas_ > 1 && batch >= 2 * workers_) {
      run_apart(input, batch, output);
    } else {
      run_together(input, batch, output, [](const RunFrame&, const PlacedValue&) {});
    }
  }

  void run_watched(std::span<const std::byte> input, std::int64_t batch,
                   std::span<std::byte> output, const ResultWatcher& watch) const override {
    run_together(input, batch, output, [&](const RunFrame& frame, const PlacedValue& given) {
      watch(given.value, [&](std::vector<std::byte>& values) {
        values.resize(given.info.bytes * static_cast<std::size_t>(frame.batch));
        store_examples(given.place, given.info, frame.arena, frame.batch, values.data());
      });
    });
  }

  const std::vector<StepInfo>& steps() const override { return plan_.infos; }
  std::size_t weight_bytes() const override { return plan_.weight_bytes; }
  std::size_t arena_bytes() const override {
    return plan_.arena_bytes * static_cast<std::size_t>(arenas_);
  }
  const TuningFile& tuning() const override { return tuning_; }
  std::vector<ProductCut> cuts() const override {
    std::vector<ProductCut> list;
    for (const std::int64_t outputs : {64, 48, 32}) {
      for (const std::int64_t pixels : {48, 96, 144, 196, 288, 392})
        list.push_back({pixels, outputs});
    }
    return list;
  }

 private:
  std::unique_ptr<Workspace> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(free_.back());
        free_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>(plan_, workers_, arenas_);
  }
  void give(std::unique_ptr<Workspace> workspace) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }

  // Examples first to first + frame.batch. look(frame, value) may look at the arena.
  template <class Look>
  void run_examples(const RunFrame& frame, std::int64_t first, std::span<const std::byte> input,
                    std::span<std::byte> output, const Look& look) const {
    const auto at = static_cast<std::size_t>(first);
    load_examples(plan_.input.place, plan_.entry, input.data() + at * plan_.entry.bytes,
                  frame.batch, frame.arena);
    look(frame, plan_.input);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      plan_.steps[i]->run(frame);
      look(frame, plan_.results[i]);
    }
    store_examples(plan_.output.place, plan_.output.info, frame.arena, frame.batch,
                   output.data() + at * plan_.output.info.bytes);
  }

  // Pieces one after another, each by all workers.
  template <class Look>
  void run_together(std::span<const std::byte> input, std::int64_t batch,
                    std::span<std::byte> output, const Look& look) const {
    std::unique_ptr<Workspace> workspace = take();
    for (std::int64_t done = 0; done < batch; done += max_batch_) {
      const std::int64_t piece = std::min(max_batch_, batch - done);
      run_examples(workspace->together(piece), done, input, output, look);
    }
    give(std::move(workspace));
  }

  // Pieces side by side, each by one worker: nobody waits for others within a piece. Every worker
  // gets as many of them.
  void run_apart(std::span<const std::byte> input, std::int64_t batch,
                 std::span<std::byte> output) const {
    const std::int64_t all_at_a_time = workers_ * max_batch_;
    const std::int64_t pieces = (batch + all_at_a_time - 1) / all_at_a_time * workers_;
    std::unique_ptr<Workspace> workspace = take();
    workspace->team.run(pieces, [&](int worker, std::int64_t piece) {
      const std::int64_t first = batch * piece / pieces;
      const std::int64_t count = batch * (piece + 1) / pieces - first;
      run_examples(workspace->apart(static_cast<std::size_t>(worker), count), first, input, output,
                   [](const RunFrame&, const PlacedValue&) {});
    });
    give(std::move(workspace));
  }

  int workers_;
  int arenas_ = 1;  // of one run: as many pieces of a batch may run at a time
  std::int64_t max_batch_ = 1;
  TuningFile tuning_;
  CpuPlan plan_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace

std::unique_ptr<EngineRunner> make_cpu_runner(const EngineProgram& program,
                                              const EngineOptions& options) {
  return std::make_unique<CpuRunner>(program, options);
}

}  // namespace nibble::inline engine
