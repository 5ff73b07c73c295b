// SPDX-License-Identifier: Apache-2.0
// Loads samples, by all threads.
#include "loadgen/harness/sample_library.h"

#include <algorithm>
#include <cstring>

#include "nibble/core/parallel.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline loadgen {

SampleLibrary::SampleLibrary(const Examples& examples, std::size_t sample_bytes, std::size_t window,
                             RunFailure& failure)
    : examples_(examples),
      sample_bytes_(sample_bytes),
      window_(window),
      failure_(failure),
      places_(examples.size()) {}

void SampleLibrary::LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) {
  try {
    load(samples);
  } catch (...) {
    failure_.keep(std::current_exception());
  }
  failure_.stop_if_failed();
}

void SampleLibrary::load(const std::vector<mlperf::QuerySampleIndex>& samples) {
  loaded_ = samples.size();
  const std::size_t repeated = std::min(window_, loaded_) - 1;
  memory_.resize((loaded_ + repeated) * sample_bytes_);
  parallel_tasks(loaded_, [&](std::size_t i) {
    if (interrupt_requested()) return;
    examples_.read(samples[i], samples[i] + 1,
                   std::span(memory_).subspan(i * sample_bytes_, sample_bytes_));
  });
  std::memcpy(memory_.data() + loaded_ * sample_bytes_, memory_.data(), repeated * sample_bytes_);
  // MultiStream loads its first samples again behind the last: the first place counts.
  for (std::size_t i = loaded_; i-- > 0;) places_[samples[i]] = i;
}

void SampleLibrary::UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) {
  loaded_ = 0;
}

std::span<const std::byte> SampleLibrary::integers(std::span<const mlperf::QuerySample> batch,
                                                   std::vector<std::byte>& copy) const {
  const std::size_t first = places_[batch[0].index];
  std::size_t neighbours = 1;
  while (neighbours < batch.size() &&
         places_[batch[neighbours].index] == (first + neighbours) % loaded_) {
    ++neighbours;
  }
  // A batch of more samples than there are goes round more than once: there is no such stretch.
  const bool is_stretch = (first + batch.size()) * sample_bytes_ <= memory_.size();
  if (neighbours == batch.size() && is_stretch)
    return std::span(memory_).subspan(first * sample_bytes_, batch.size() * sample_bytes_);
  copy.resize(batch.size() * sample_bytes_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::memcpy(copy.data() + i * sample_bytes_,
                memory_.data() + places_[batch[i].index] * sample_bytes_, sample_bytes_);
  }
  return copy;
}

}  // namespace nibble::inline loadgen
