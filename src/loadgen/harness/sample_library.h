// SPDX-License-Identifier: Apache-2.0
// The samples that LoadGen asks for, in memory as the engine takes them, of the host or of its
// device, one behind the other in the order in which they were loaded.
#pragma once

#include <query_sample_library.h>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "inference/engine_evaluation.h"
#include "loadgen/harness/run_failure.h"
#include "nibble/engine/engine.h"

namespace nibble::inline loadgen {

class SampleLibrary final : public mlperf::QuerySampleLibrary {
 public:
  // A batch of up to `window` samples that were loaded one after the other, the first behind the
  // last, is one piece of memory. Several engines share the host's, each has its device's.
  SampleLibrary(const Examples& examples, std::vector<const Engine*> engines, BufferPlace place,
                std::size_t window, RunFailure& failure);

  const std::string& Name() override { return examples_.name; }
  std::size_t TotalSampleCount() override { return examples_.size(); }
  std::size_t PerformanceSampleCount() override;
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override;
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>& samples) override;

  std::size_t loaded() const { return loaded_; }
  std::size_t place_of(mlperf::QuerySampleIndex sample) const { return places_[sample]; }
  // The first again behind the last; without a division, for it is asked of every sample.
  std::size_t place_after(std::size_t place) const { return place + 1 == loaded_ ? 0 : place + 1; }

  // The integers of a batch whose samples are neighbours, for the engine of that number; nothing
  // where they are not.
  std::span<const std::byte> stretch_of(std::span<const mlperf::QuerySample> batch,
                                        std::size_t engine = 0) const;
  const std::byte* integers_of(mlperf::QuerySampleIndex sample, std::size_t engine = 0) const {
    return memory_of(engine).data() + places_[sample] * sample_bytes_;
  }

 private:
  std::size_t repeated() const;
  void load(const std::vector<mlperf::QuerySampleIndex>& samples);
  std::span<std::byte> memory_of(std::size_t engine) const {
    return memory_[place_ == BufferPlace::device ? engine : 0].bytes();
  }

  const Examples& examples_;
  std::vector<const Engine*> engines_;
  BufferPlace place_;
  std::size_t sample_bytes_;
  std::size_t window_;
  RunFailure& failure_;
  std::size_t loaded_ = 0;
  std::vector<std::size_t> places_;   // by index
  std::vector<EngineBuffer> memory_;  // of the host, or one a device
};

}  // namespace nibble::inline loadgen
