// SPDX-License-Identifier: Apache-2.0
// A program compiled for a GPU: what is launched, step by step, and what it reads.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/cuda/device_work.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

class DevicePlan {
 public:
  DevicePlan(const EngineProgram& program, const EngineOptions& options, const Tuning& tuning,
             int device);

  // Lays the examples out that lie at `input`; a number beyond the range of the input sets
  // *is_wrong, in memory of the host.
  void load(const DeviceRun& run, const void* input, std::uint32_t* is_wrong) const;
  void run_step(const DeviceRun& run, std::size_t step) const;
  void store(const DeviceRun& run, void* output) const;

  std::size_t steps() const { return works_.size(); }
  std::size_t result_of(std::size_t step) const { return results_[step]; }  // a value
  const std::vector<StepInfo>& infos() const { return infos_; }
  const ValueInfo& entry() const { return entry_; }
  const ValueInfo& value(std::size_t index) const { return values_[index]; }
  const ValueInfo& answer() const { return values_.back(); }

  // The integers of a value, dense, as its ValueInfo has them; `bytes` is what lies at its place.
  const DevicePlace& place(std::size_t index) const { return places_[index]; }
  void unpack(std::size_t index, const std::vector<std::byte>& bytes, std::int64_t images,
              std::vector<std::byte>& to) const;

  std::int64_t images() const { return images_; }  // of a run, at most
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t weight_bytes() const { return constants_.bytes(); }

 private:
  void fill_border(const DeviceRun& run, std::size_t value) const;

  DeviceConstants constants_;
  std::vector<ValueInfo> values_;
  std::vector<DevicePlace> places_;  // by value
  EntryLayout layout_;               // of examples
  ValueInfo entry_;
  std::vector<DeviceWork> works_;
  std::vector<std::size_t> results_;
  std::vector<StepInfo> infos_;
  std::int64_t images_ = 1;
  std::size_t arena_bytes_ = 0;
};

}  // namespace nibble::inline engine
