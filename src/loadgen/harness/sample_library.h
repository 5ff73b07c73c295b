// SPDX-License-Identifier: Apache-2.0
// The samples that LoadGen asks for, in memory as the engine takes them, one behind the other in
// the order in which they were loaded.
#pragma once

#include <query_sample_library.h>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inference/engine_evaluation.h"
#include "loadgen/harness/run_failure.h"

namespace nibble::inline loadgen {

class SampleLibrary final : public mlperf::QuerySampleLibrary {
 public:
  // A batch of up to `window` samples that were loaded one after the other, the first behind the
  // last, is one piece of memory.
  SampleLibrary(const Examples& examples, std::size_t sample_bytes, std::size_t window,
                RunFailure& failure);

  const std::string& Name() override { return examples_.name; }
  std::size_t TotalSampleCount() override { return examples_.size(); }
  std::size_t PerformanceSampleCount() override { return examples_.size(); }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override;
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>& samples) override;

  std::size_t loaded() const { return loaded_; }
  std::size_t place_of(mlperf::QuerySampleIndex sample) const { return places_[sample]; }

  // The integers of a batch: where they lie, or in `copy` where they are not neighbours.
  std::span<const std::byte> integers(std::span<const mlperf::QuerySample> batch,
                                      std::vector<std::byte>& copy) const;

 private:
  void load(const std::vector<mlperf::QuerySampleIndex>& samples);

  const Examples& examples_;
  std::size_t sample_bytes_;
  std::size_t window_;
  RunFailure& failure_;
  std::size_t loaded_ = 0;
  std::vector<std::size_t> places_;  // by index
  std::vector<std::byte> memory_;
};

}  // namespace nibble::inline loadgen
