// SPDX-License-Identifier: Apache-2.0
// The engine: a plan, and memory for as many runs as there are at a time.
#include "nibble/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/checked.h"
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

std::int32_t int32_at(const std::byte* from) {
  std::int32_t value = 0;
  std::memcpy(&value, from, sizeof value);  // of any alignment
  return value;
}

// Beyond the range of the input nothing is proven, so that a table may be read behind its end.
template <class Number>
void check_range(std::span<const std::byte> bytes, const ValueInfo& info) {
  const std::int64_t low = info.low + info.zero;
  const std::int64_t high = info.high + info.zero;
  if (low <= std::numeric_limits<Number>::min() && high >= std::numeric_limits<Number>::max())
    return;
  auto least = static_cast<Number>(low);
  auto most = static_cast<Number>(high);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    Number value;
    std::memcpy(&value, &bytes[at], sizeof value);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least >= low && most <= high) return;
  throw Error("engine", "input", std::to_string(least < low ? least : most),
              fmt::format("{} to {}", low, high));
}

void load_bytes(const std::byte* from, std::int64_t count, std::uint8_t shift, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<std::byte>(static_cast<std::uint8_t>(from[i]) + shift);
}

// Dense examples to and from the place of a value.
void load_examples(const Place& place, const ValueInfo& info, const std::byte* from,
                   std::int64_t batch, std::byte* arena) {
  const std::int64_t channels = place.channels;
  const bool is_byte = place.storage == FilterStorage::u8 && info.dtype != DType::i32;
  const auto shift = static_cast<std::uint8_t>(place.zero - info.zero);  // of bytes, modulo 256
  for (std::int64_t row = 0; row < batch * place.height; ++row) {
    std::byte* to = arena + place.offset + row * place.row_bytes();
    if (place.border > 0) {
      const auto border = static_cast<std::size_t>(place.border * place.stride);
      std::memset(to, place.zero, border);
      std::memset(to + place.row_bytes() - border, place.zero, border);
      to += border;
    }
    if (is_byte) {
      const bool is_dense = place.stride == channels;
      const std::int64_t runs = is_dense ? 1 : place.width;
      const std::int64_t bytes = is_dense ? place.width * channels : channels;
      for (std::int64_t run = 0; run < runs; ++run, to += place.stride, from += bytes)
        load_bytes(from, bytes, shift, to);
      continue;
    }
    for (std::int64_t x = 0; x < place.width; ++x, to += place.stride) {
      for (std::int64_t c = 0; c < channels; ++c, from += size_of(info.dtype)) {
        const std::int64_t value = info.dtype == DType::i8   ? static_cast<std::int8_t>(*from)
                                   : info.dtype == DType::u8 ? static_cast<std::uint8_t>(*from)
                                                             : int32_at(from);
        write_value(place, to, c, value - info.zero);
      }
    }
  }
}

void store_examples(const Place& place, const ValueInfo& info, const std::byte* arena,
                    std::int64_t batch, std::byte* to) {
  if (place.storage == FilterStorage::u8 && info.dtype != DType::i32 && place.border == 0 &&
      place.stride == place.channels && (place.zero == 128 || place.zero == 0)) {
    const std::byte* from = arena + place.offset;
    const auto flip = static_cast<std::byte>(place.zero);
    for (std::int64_t i = 0; i < batch * place.image_bytes(); ++i) to[i] = from[i] ^ flip;
    return;
  }
  for (std::int64_t pixel = 0; pixel < batch * place.pixels(); ++pixel) {
    const std::int64_t image = pixel / place.pixels();
    const std::int64_t at = pixel % place.pixels();
    const std::byte* from =
        arena + place.offset + place.at(image, at / place.width, at % place.width);
    for (std::int64_t c = 0; c < place.channels; ++c, to += size_of(info.dtype)) {
      const std::int64_t value = read_value(place, from, c);
      if (info.dtype == DType::i32) {
        const auto wide = static_cast<std::int32_t>(value);
        std::memcpy(to, &wide, sizeof wide);
      } else {
        *to = static_cast<std::byte>(value);
      }
    }
  }
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
    if (info.dtype == DType::i8) check_range<std::int8_t>(bytes, info);
    if (info.dtype == DType::u8) check_range<std::uint8_t>(bytes, info);
    if (info.dtype == DType::i32) check_range<std::int32_t>(bytes, info);
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
