// SPDX-License-Identifier: Apache-2.0
// Runs an integer network: load it once, then run batches from any number of threads.
//
//   const nibble::Engine engine = nibble::Engine::load("model.nib", {.max_batch = 16});
//   std::vector<std::byte> answers(engine.output().bytes * 16);
//   engine.run(pictures, 16, answers);
//   nibble::PendingRun pending = engine.submit(pictures, 16, answers);  // does not wait
//   pending.get();
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nibble/core/dtype.h"
#include "nibble/core/limits.h"
#include "nibble/core/shape.h"
#include "nibble/engine/engine_buffer.h"
#include "nibble/engine/tuning.h"
#include "nibble/graph/network.h"

namespace nibble::inline engine {

struct EngineOptions {
  // Who computes: "cpu", "cuda" and "cuda:1" (GPUs, in programs that called register_cuda_engine),
  // "reference" (the definitions), "check(cpu,reference)" (both, which throws
  // at the first difference). The integers do not depend on it.
  std::string device = "cpu";
  std::int64_t max_batch = 1;      // that is expected; larger ones run, too
  int threads = 0;                 // of one run; 0: thread_count()
  int lanes = 1;                   // submitted batches that run at a time
  bool keeps_layers = false;       // nothing is fused, so that every layer's integers can be seen
  const Tuning* tuning = nullptr;  // null: find_tuning()
  // Whether 4-bit weights and values lie in halves of bytes; false: in bytes, twice as large. None:
  // whichever is faster on the path of the CPU. On a GPU they lie in bytes.
  std::optional<bool> packs_halves = {};
  std::optional<Limits> limits = {};  // while it is loaded; none: those in force
};

// Throws where no engine of this build runs on that device.
void check_device(const std::string& name);

// One example of what enters or leaves, dense, row-major.
struct ValueInfo {
  std::string name;  // of the layer
  Shape shape;
  DType dtype = DType::i8;  // i8, u8 or i32: the smallest that holds every possible value
  std::int64_t low = 0;     // of all values, proven
  std::int64_t high = 0;
  std::size_t bytes = 0;
  // What lies in memory is value + zero. Only inputs of bytes have one, where no byte holds every
  // value: the zero point of their format.
  std::int64_t zero = 0;
};

// What lies in memory as the integers that it stands for.
inline std::vector<std::int64_t> as_integers(const ValueInfo& info,
                                             std::span<const std::byte> bytes) {
  std::vector<std::int64_t> result;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(info.dtype)) {
    std::int32_t word = 0;
    std::memcpy(&word, &bytes[at], size_of(info.dtype));
    result.push_back((info.dtype == DType::i8 ? static_cast<std::int8_t>(word) : word) - info.zero);
  }
  return result;
}

// What runs as one.
struct StepInfo {
  std::string name;        // of the layer whose value it gives
  std::string kind;        // "conv2d 3x3/2 + add + rescale", "max_pool", …
  std::string shape;       // of a product: what its speed depends on
  std::int64_t macs = 0;   // multiply-accumulates of one example
  std::int64_t bytes = 0;  // of one example that are read and written, where that is known
  bool is_wide = false;    // 64 bits where 32 cannot be proven enough
};

// What an engine multiplies with, and how fast that could be.
struct EnginePeak {
  std::string instructions;  // empty: those of active_isa()
  double operations = 0;     // a second, two a multiply-accumulate; 0: not known
  double bytes = 0;          // a second that copying reads and writes; 0: not known
};

// Where each example of a batch begins.
using ExamplesApart = std::span<const std::byte* const>;

// Called once for a submitted batch, by a thread of the engine's: null, or what was thrown. It must
// not throw; it may submit. It may also end the engine, or be all that keeps it: what else was
// submitted then ends first.
using Completion = std::function<void(std::exception_ptr error)>;

class Engine;
struct PendingState;
class PendingStates;

// A submitted run, for whoever waits for it.
class PendingRun {
 public:
  PendingRun() = default;  // of nothing: it has ended
  PendingRun(PendingRun&& other) noexcept;
  PendingRun& operator=(PendingRun&& other) noexcept;
  ~PendingRun();  // waits: after it, what the run reads and writes may go

  bool is_done() const;
  bool wait_for(std::chrono::nanoseconds time) const;  // whether it has ended by then
  void get();  // waits, then throws what the run threw; once

 private:
  friend class Engine;
  explicit PendingRun(std::shared_ptr<PendingStates> states);
  void release() noexcept;

  std::shared_ptr<PendingStates> states_;
  PendingState* state_ = nullptr;
};

class Engine {
 public:
  // Any integer network: integer-trained, or one of integer operations alone.
  explicit Engine(Model model, const EngineOptions& options = {});
  static Engine load(const std::filesystem::path& path, const EngineOptions& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();  // when all that was submitted has ended

  const std::string& name() const;
  const ValueInfo& input() const;
  const ValueInfo& output() const;

  // `input` holds `batch` examples, `output` takes as many answers. Any number of threads may call
  // it at once; each gets memory of its own, which is made once and kept. No allocation after.
  void run(std::span<const std::byte> input, std::int64_t batch, std::span<std::byte> output) const;

  // As run, by threads of the engine's: any number of batches may be on their way, and they begin
  // in the order in which they were submitted, `lanes` at a time. `input` and `output` must live
  // until the batch has ended. What has the wrong size is refused at once; all else is an error of
  // the batch. No allocation once as many batches have been on their way.
  void submit(std::span<const std::byte> input, std::int64_t batch, std::span<std::byte> output,
              Completion done) const;
  PendingRun submit(std::span<const std::byte> input, std::int64_t batch,
                    std::span<std::byte> output) const;

  // As run and submit, of examples that lie apart: a pointer for each of the batch. What they point
  // at and, of a submitted batch, the list itself must live until it has ended.
  void run(ExamplesApart examples, std::span<std::byte> output) const;
  void submit(ExamplesApart examples, std::span<std::byte> output, Completion done) const;

  // As run, and calls visit(layer, values) for every layer; needs keeps_layers.
  using LayerVisitor = std::function<void(const ValueInfo&, std::span<const std::byte> values)>;
  void run_layers(std::span<const std::byte> input, std::int64_t batch,
                  const LayerVisitor& visit) const;

  // As run, with seconds[i] += the time of step i.
  void run_timed(std::span<const std::byte> input, std::int64_t batch, std::span<std::byte> output,
                 std::span<double> seconds) const;

  // Memory for input and output. A run takes any other as well, of the host or, where the engine
  // runs on a GPU, of that GPU.
  EngineBuffer allocate(std::size_t bytes, BufferPlace place) const;

  EnginePeak measure_peak() const;  // of the device; takes some milliseconds
  // Of the device's own memory, by all programs; 0: it has none.
  std::size_t device_bytes_in_use() const;

  const std::vector<StepInfo>& steps() const;
  const TuningFile& tuning() const;
  std::vector<ProductCut> cuts()
      const;                         // of layers, that are worth trying here; none on some devices
  std::size_t weight_bytes() const;  // as they lie in memory
  std::size_t arena_bytes() const;   // of all values of one run

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace nibble::inline engine
