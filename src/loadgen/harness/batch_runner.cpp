// SPDX-License-Identifier: Apache-2.0
// Runs batches and answers LoadGen.
#include "loadgen/harness/batch_runner.h"

#include <algorithm>

namespace nibble::inline loadgen {

BatchRunner::BatchRunner(const AnswerEngine& engine, const SampleLibrary& samples,
                         std::size_t slots, std::size_t classes_logged, RunFailure& failure,
                         LoadMeter& meter)
    : engine_(engine),
      samples_(samples),
      classes_logged_(classes_logged),
      failure_(failure),
      meter_(meter),
      slots_(slots) {
  for (Slot& slot : slots_) free_.push_back(&slot);
}

std::span<std::byte> BatchRunner::answers_of(Slot& slot) const {
  return slot.integers->bytes().first(slot.batch.size() * engine_.engine().output().bytes);
}

void BatchRunner::begin(Slot& slot, std::span<const mlperf::QuerySample> batch,
                        const Waiting& waiting) {
  slot.batch = batch;
  const std::size_t bytes = batch.size() * engine_.engine().output().bytes;
  if (!slot.integers || slot.integers->bytes().size() < bytes)
    slot.integers.emplace(engine_.engine().allocate(bytes, BufferPlace::host));
  const LoadClock::time_point begun = LoadClock::now();
  slot.record = {.issued = waiting.issued.value_or(begun),
                 .begun = begun,
                 .ended = {},
                 .samples = batch.size(),
                 .waiting = waiting.samples};
}

void BatchRunner::run(std::span<const mlperf::QuerySample> batch, const Waiting& waiting) {
  Slot& slot = slots_.front();
  std::exception_ptr error;
  begin(slot, batch, waiting);
  try {
    engine_.engine().run(samples_.integers(slot.batch, slot.copy),
                         static_cast<std::int64_t>(batch.size()), answers_of(slot));
  } catch (...) {
    error = std::current_exception();
  }
  answer(slot, error);
}

void BatchRunner::submit(std::span<const mlperf::QuerySample> batch, const Waiting& waiting) {
  Slot* slot = nullptr;
  {
    std::unique_lock lock(mutex_);
    has_news_.wait(lock, [&] { return !free_.empty(); });
    slot = free_.back();
    free_.pop_back();
    ++busy_;
  }
  slot->own_batch.assign(batch.begin(), batch.end());
  begin(*slot, slot->own_batch, waiting);
  try {
    engine_.engine().submit(samples_.integers(slot->batch, slot->copy),
                            static_cast<std::int64_t>(batch.size()), answers_of(*slot),
                            [this, slot](const std::exception_ptr& error) {
                              answer(*slot, error);
                              free(*slot);
                              on_free_();
                              end_one();
                            });
  } catch (...) {
    answer(*slot, std::current_exception());
    free(*slot);
    end_one();
  }
}

// The classes with the largest numbers, of equal ones the first, as `nibble eval` has them.
void BatchRunner::find_classes(Slot& slot) {
  const auto width = static_cast<std::size_t>(engine_.engine().output().shape.elements());
  slot.reals.resize(slot.batch.size() * width);
  slot.classes.resize(slot.batch.size() * classes_logged_);
  engine_.to_reals(answers_of(slot), slot.reals);
  for (std::size_t i = 0; i < slot.batch.size(); ++i) {
    const auto row = std::span(slot.reals).subspan(i * width, width);
    if (engine_.gives_class()) {
      slot.classes[i] = static_cast<std::int32_t>(row[0]);
    } else if (classes_logged_ == 1) {
      slot.classes[i] = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
    } else {
      std::ranges::copy(largest(row, classes_logged_),
                        slot.classes.begin() + static_cast<std::ptrdiff_t>(i * classes_logged_));
    }
  }
}

void BatchRunner::answer(Slot& slot, const std::exception_ptr& error) noexcept {
  std::size_t bytes = 0;
  if (error) {
    failure_.keep(error);
  } else {
    find_classes(slot);
    bytes = classes_logged_ * sizeof(std::int32_t);
  }
  slot.responses.resize(slot.batch.size());
  for (std::size_t i = 0; i < slot.batch.size(); ++i) {
    const std::int32_t* data = bytes == 0 ? nullptr : &slot.classes[i * classes_logged_];
    slot.responses[i] = {slot.batch[i].id, reinterpret_cast<std::uintptr_t>(data), bytes};
  }
  slot.record.ended = LoadClock::now();
  mlperf::QuerySamplesComplete(slot.responses.data(), slot.responses.size());
  meter_.add(slot.record);
}

void BatchRunner::free(Slot& slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&slot);
  has_news_.notify_all();
}

void BatchRunner::end_one() {
  const std::lock_guard lock(mutex_);
  --busy_;
  has_news_.notify_all();
}

bool BatchRunner::has_free_slot() const {
  const std::lock_guard lock(mutex_);
  return !free_.empty();
}

void BatchRunner::wait_for_all() {
  std::unique_lock lock(mutex_);
  has_news_.wait(lock, [&] { return busy_ == 0; });
}

}  // namespace nibble::inline loadgen
