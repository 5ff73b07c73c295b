// SPDX-License-Identifier: Apache-2.0
// Runs batches and answers LoadGen.
#include "loadgen/harness/batch_runner.h"

#include <algorithm>

namespace nibble::inline loadgen {

BatchRunner::BatchRunner(std::vector<const AnswerEngine*> engines, const SampleLibrary& samples,
                         std::size_t slots, std::size_t classes_logged, RunFailure& failure,
                         LoadMeter& meter)
    : engines_(std::move(engines)),
      samples_(samples),
      answer_bytes_(engines_.front()->engine().output().bytes),
      classes_logged_(classes_logged),
      failure_(failure),
      slots_(slots * engines_.size()) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const bool is_first = i < engines_.size();  // of its device
    slots_[i].device = i % engines_.size();
    slots_[i].tally = &meter.make_tally();
    slots_[i].device_tally =
        is_first ? &meter.make_device() : slots_[slots_[i].device].device_tally;
    free_.push_back(&slots_[slots_.size() - 1 - i]);  // the first device's is taken first
  }
}

std::span<std::byte> BatchRunner::answers_of(const Slot& slot) const {
  return slot.integers->bytes().first(slot.batch.size() * answer_bytes_);
}

// Answers of so many samples, and responses that point at their classes.
void BatchRunner::make_room(Slot& slot, std::size_t samples) const {
  if (samples <= slot.room) return;
  slot.integers.emplace(engine_of(slot).allocate(samples * answer_bytes_, BufferPlace::host));
  slot.classes.resize(samples * classes_logged_);
  slot.responses.clear();
  for (std::size_t i = 0; i < samples; ++i) {
    const std::int32_t* data = &slot.classes[i * classes_logged_];
    slot.responses.push_back(
        {0, reinterpret_cast<std::uintptr_t>(data), classes_logged_ * sizeof *data});
  }
  slot.room = samples;
}

void BatchRunner::begin(Slot& slot, std::span<const mlperf::QuerySample> batch,
                        const Waiting& waiting) {
  slot.batch = batch;
  make_room(slot, batch.size());
  const LoadClock::time_point begun = LoadClock::now();
  if (waiting.issued.empty()) {
    slot.issued.assign(1, begun);
  } else {
    slot.issued.assign(waiting.issued.begin(), waiting.issued.end());
  }
  slot.record = {.issued = slot.issued,
                 .begun = begun,
                 .ended = {},
                 .samples = batch.size(),
                 .waiting = waiting.samples};
}

// The samples as one piece of memory, or nothing: then slot.apart says where each of them lies.
std::span<const std::byte> BatchRunner::stretch_or_apart(Slot& slot) const {
  const std::span<const std::byte> stretch = samples_.stretch_of(slot.batch, slot.device);
  if (!stretch.empty()) return stretch;
  slot.apart.clear();
  for (const mlperf::QuerySample& sample : slot.batch)
    slot.apart.push_back(samples_.integers_of(sample.index, slot.device));
  return {};
}

void BatchRunner::run(std::span<const mlperf::QuerySample> batch, const Waiting& waiting) {
  Slot& slot = slots_.front();
  std::exception_ptr error;
  begin(slot, batch, waiting);
  slot.device_tally->begin(slot.record.begun);
  try {
    const auto stretch = stretch_or_apart(slot);
    if (stretch.empty()) {
      engine_of(slot).run(slot.apart, answers_of(slot));
    } else {
      engine_of(slot).run(stretch, static_cast<std::int64_t>(batch.size()), answers_of(slot));
    }
  } catch (...) {
    error = std::current_exception();
  }
  answer(slot, error);
  slot.device_tally->end(slot.record.ended);
}

void BatchRunner::submit(std::span<const mlperf::QuerySample> batch, const Waiting& waiting) {
  Slot* slot = nullptr;
  {
    std::unique_lock lock(mutex_);
    has_news_.wait(lock, [&] { return !free_.empty(); });
    slot = free_.back();
    free_.pop_back();
    slot->device_tally->begin(LoadClock::now());
    ++busy_;
  }
  slot->own_batch.assign(batch.begin(), batch.end());
  begin(*slot, slot->own_batch, waiting);
  Completion done = [this, slot](const std::exception_ptr& error) {
    answer(*slot, error);
    free(*slot);
    on_free_();
    end_one();
  };
  try {
    const auto stretch = stretch_or_apart(*slot);
    if (stretch.empty()) {
      engine_of(*slot).submit(slot->apart, answers_of(*slot), std::move(done));
    } else {
      engine_of(*slot).submit(stretch, static_cast<std::int64_t>(batch.size()), answers_of(*slot),
                              std::move(done));
    }
  } catch (...) {
    answer(*slot, std::current_exception());
    free(*slot);
    end_one();
  }
}

// The classes with the largest numbers, of equal ones the first, as `nibble eval` has them.
void BatchRunner::find_classes(Slot& slot) const {
  const std::size_t samples = slot.batch.size();
  const auto classes = std::span(slot.classes).first(samples * classes_logged_);
  const AnswerEngine& engine = *engines_[slot.device];
  if (classes_logged_ == 1) return engine.find_classes(answers_of(slot), classes);
  const auto width = static_cast<std::size_t>(engine.engine().output().shape.elements());
  slot.reals.resize(samples * width);
  engine.to_reals(answers_of(slot), slot.reals);
  for (std::size_t i = 0; i < samples; ++i) {
    std::ranges::copy(largest(std::span(slot.reals).subspan(i * width, width), classes_logged_),
                      classes.begin() + static_cast<std::ptrdiff_t>(i * classes_logged_));
  }
}

void BatchRunner::answer(Slot& slot, const std::exception_ptr& error) noexcept {
  const std::size_t samples = slot.batch.size();
  if (error) {
    failure_.keep(error);
    for (std::size_t i = 0; i < samples; ++i) slot.responses[i] = {slot.batch[i].id, 0, 0};
    slot.room = 0;  // what responses point at is made anew
  } else {
    find_classes(slot);
    for (std::size_t i = 0; i < samples; ++i) slot.responses[i].id = slot.batch[i].id;
  }
  slot.record.ended = LoadClock::now();
  mlperf::QuerySamplesComplete(slot.responses.data(), samples);
  slot.tally->add(slot.record);
}

void BatchRunner::free(Slot& slot) {
  const std::lock_guard lock(mutex_);
  slot.device_tally->end(slot.record.ended);
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
