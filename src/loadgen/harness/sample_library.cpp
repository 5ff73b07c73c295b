// SPDX-License-Identifier: Apache-2.0
// Loads samples, by all threads.
#include "loadgen/harness/sample_library.h"

#include <algorithm>

#include "nibble/core/parallel.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline loadgen {

namespace {

// Of samples that a performance run may keep, where its configuration does not say how many.
constexpr std::size_t kMostLoadedBytes = std::size_t{256} << 20;
// Of those that lie there once more, behind the last.
constexpr std::size_t kMostRepeatedBytes = std::size_t{1} << 30;
constexpr std::size_t kSamplesAtOnce = 256;  // on their way to a device

}  // namespace

SampleLibrary::SampleLibrary(const Examples& examples, std::vector<const Engine*> engines,
                             BufferPlace place, std::size_t window, RunFailure& failure)
    : examples_(examples),
      engines_(std::move(engines)),
      place_(place),
      sample_bytes_(engines_.front()->input().bytes),
      window_(window),
      failure_(failure),
      places_(examples.size()) {}

std::size_t SampleLibrary::PerformanceSampleCount() {
  return std::min(examples_.size(), std::max<std::size_t>(kMostLoadedBytes / sample_bytes_, 1));
}

void SampleLibrary::LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) {
  try {
    load(samples);
  } catch (...) {
    failure_.keep(std::current_exception());
  }
  failure_.stop_if_failed();
}

// So many behind the last, the first again and on: a batch that begins at the last is one piece.
std::size_t SampleLibrary::repeated() const {
  return std::min(window_ - 1, std::max(loaded_, kMostRepeatedBytes / sample_bytes_));
}

void SampleLibrary::load(const std::vector<mlperf::QuerySampleIndex>& samples) {
  loaded_ = samples.size();
  const std::size_t bytes = (loaded_ + repeated()) * sample_bytes_;
  const bool is_device = place_ == BufferPlace::device;
  if (memory_.empty() || memory_[0].bytes().size() < bytes) {
    memory_.clear();
    for (std::size_t i = 0; i < (is_device ? engines_.size() : 1); ++i)
      memory_.push_back(engines_[i]->allocate(bytes, place_));
  }
  std::vector<std::byte> piece(is_device ? kSamplesAtOnce * sample_bytes_ : 0);
  for (std::size_t begin = 0; begin < loaded_; begin += kSamplesAtOnce) {
    const std::size_t count = std::min(kSamplesAtOnce, loaded_ - begin);
    const std::size_t at = begin * sample_bytes_;
    std::byte* to = is_device ? piece.data() : memory_[0].bytes().data() + at;
    parallel_tasks(count, [&](std::size_t i) {
      if (interrupt_requested()) return;
      const mlperf::QuerySampleIndex sample = samples[begin + i];
      examples_.read(sample, sample + 1, {to + i * sample_bytes_, sample_bytes_});
    });
    for (const EngineBuffer& each : memory_) {
      if (is_device) each.write({piece.data(), count * sample_bytes_}, at);
    }
  }
  for (std::size_t done = 0; done < repeated(); done += loaded_) {
    const std::size_t count = std::min(loaded_, repeated() - done);
    for (const EngineBuffer& each : memory_)
      each.write(each.bytes().first(count * sample_bytes_), (loaded_ + done) * sample_bytes_);
  }
  // MultiStream loads its first samples again behind the last: the first place counts.
  for (std::size_t i = loaded_; i-- > 0;) places_[samples[i]] = i;
}

void SampleLibrary::UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) {
  loaded_ = 0;
}

std::span<const std::byte> SampleLibrary::stretch_of(std::span<const mlperf::QuerySample> batch,
                                                     std::size_t engine) const {
  const std::size_t first = places_[batch[0].index];
  if (first + batch.size() > loaded_ + repeated()) return {};
  std::size_t expected = first;
  for (const mlperf::QuerySample& sample : batch) {
    if (places_[sample.index] != expected) return {};
    expected = place_after(expected);
  }
  return memory_of(engine).subspan(first * sample_bytes_, batch.size() * sample_bytes_);
}

}  // namespace nibble::inline loadgen
