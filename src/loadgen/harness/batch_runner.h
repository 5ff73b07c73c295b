// SPDX-License-Identifier: Apache-2.0
// Batches of LoadGen's samples through the engine, and their classes back to LoadGen.
#pragma once

#include <loadgen.h>
#include <query_sample.h>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "loadgen/harness/run_failure.h"
#include "loadgen/harness/sample_library.h"
#include "loadgen/load_meter.h"
#include "nibble/inference/answer_engine.h"

namespace nibble::inline loadgen {

class BatchRunner {
 public:
  // At most `slots` batches are on their way at a time on each of the engines, which are those of
  // the samples' devices; each has memory and a tally of its own.
  BatchRunner(std::vector<const AnswerEngine*> engines, const SampleLibrary& samples,
              std::size_t slots, std::size_t classes_logged, RunFailure& failure, LoadMeter& meter);

  struct Waiting {
    // When each of the batch came, or one time for all; none: now.
    std::span<const LoadClock::time_point> issued = {};
    std::size_t samples = 0;  // that are left waiting
  };

  // In this thread by the first engine, where nobody submits. LoadGen is answered even where the
  // engine fails, and `failure` knows why.
  void run(std::span<const mlperf::QuerySample> batch, const Waiting& waiting);

  // The same by threads of whichever engine has a free slot; `batch` is copied. Waits for one.
  void submit(std::span<const mlperf::QuerySample> batch, const Waiting& waiting);
  bool has_free_slot() const;

  // Called after a batch has ended and its slot is free, by the thread that ran it.
  void on_free(std::function<void()> call) { on_free_ = std::move(call); }

  void wait_for_all();  // batches that were submitted, and their on_free

 private:
  struct Slot {
    std::size_t device = 0;  // whose engine runs its batches
    std::span<const mlperf::QuerySample> batch = {};
    std::vector<mlperf::QuerySample> own_batch = {};  // where the caller's goes too early
    std::vector<const std::byte*> apart = {};         // samples, where they are not neighbours
    std::size_t room = 0;                             // samples that these three have room for
    std::optional<EngineBuffer> integers = {};
    std::vector<std::int32_t> classes = {};
    std::vector<mlperf::QuerySampleResponse> responses = {};
    std::vector<float> reals = {};
    std::vector<LoadClock::time_point> issued = {};
    BatchRecord record = {};
    LoadTally* tally = nullptr;
    DeviceTally* device_tally = nullptr;  // that of all slots of the device
  };

  std::span<std::byte> answers_of(const Slot& slot) const;
  void make_room(Slot& slot, std::size_t samples) const;
  std::span<const std::byte> stretch_or_apart(Slot& slot) const;
  void begin(Slot& slot, std::span<const mlperf::QuerySample> batch, const Waiting& waiting);
  void answer(Slot& slot, const std::exception_ptr& error) noexcept;
  void find_classes(Slot& slot) const;
  void free(Slot& slot);
  void end_one();

  const Engine& engine_of(const Slot& slot) const { return engines_[slot.device]->engine(); }

  std::vector<const AnswerEngine*> engines_;
  const SampleLibrary& samples_;
  std::size_t answer_bytes_;
  std::size_t classes_logged_;
  RunFailure& failure_;
  std::function<void()> on_free_ = [] {};
  mutable std::mutex mutex_;
  std::condition_variable has_news_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::size_t busy_ = 0;  // batches whose on_free has not returned
};

}  // namespace nibble::inline loadgen
