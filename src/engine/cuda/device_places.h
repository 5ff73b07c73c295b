// SPDX-License-Identifier: Apache-2.0
// Where every value of a program lies on a GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/cuda/device_place.h"
#include "engine/cuda/entry_layout.h"
#include "engine/program.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

class DevicePlaces {
 public:
  // The program must outlive it. `is_copied`: the copy engine of Hopper brings pixels.
  DevicePlaces(const EngineProgram& program, const EngineOptions& options, bool is_copied);

  // By value; those that are there only within a step have a place where the step needs one.
  const DevicePlace& operator[](std::size_t value) const { return places_[value]; }

  // A flattened picture that lies as the picture does: there is nothing to run.
  bool is_alias(const ProgramStep& step) const;

  // How examples lie in the place of value 0.
  const EntryLayout& entry() const { return entry_; }

  std::int64_t images() const { return images_; }  // of a run, at most
  std::size_t arena_bytes() const { return arena_bytes_; }

 private:
  void find_readers();
  void place_value(std::size_t value);
  void lay_entry_out(bool is_copied);
  void fill_lines();  // pixels of whole 32 bytes: what is outside of a line is slow to copy
  void add_borders(bool is_copied);
  void count_images(std::int64_t wanted);
  void plan_memory();

  const EngineProgram& program_;
  bool keeps_layers_;
  std::vector<std::vector<const ProgramStep*>> readers_;  // by value: those whose input it is
  std::vector<bool> is_addend_;                           // by value
  std::vector<const ProgramStep*> givers_;                // by value; null: none
  std::vector<DevicePlace> places_;
  std::vector<std::size_t> home_;  // by value: the one in whose place it lies
  EntryLayout entry_;
  std::int64_t images_ = 1;
  std::size_t arena_bytes_ = 0;
};

}  // namespace nibble::inline engine
