// SPDX-License-Identifier: Apache-2.0
// Where every value of a program lies: how its integers are kept, which values share a place, and
// where in the arena it is.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/cpu/place.h"
#include "engine/program.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// Whether 4-bit weights and values lie in halves of bytes. The option decides. Without one they do,
// except on paths that multiply matrices, where expanding halves takes longer than reading bytes.
bool packs_halves(const EngineOptions& options);

class ValuePlaces {
 public:
  // The program must outlive it.
  ValuePlaces(const EngineProgram& program, const EngineOptions& options);

  // By value; not stored: there only within a step.
  const Place& operator[](std::size_t value) const { return places_[value]; }
  const std::vector<Place>& all() const { return places_; }

  // As a value would lie, were it stored.
  Place place_of(std::size_t value) const;

  // A flattened picture that lies as the picture does: there is nothing to run.
  bool is_alias(const ProgramStep& step) const;

  std::size_t arena_bytes() const { return arena_bytes_; }

 private:
  // A step that reads a value.
  struct Reader {
    const ProgramStep* step;
    bool takes_addend;  // otherwise it is an input
  };

  void find_readers();
  void find_packed();
  void place_values();
  void plan_memory();
  const ProgramStep* thin_reader() const;
  bool may_pack(std::size_t value) const;
  bool takes_packed(const Reader& reader) const;
  bool replaces_addend(const ProgramStep& step) const;

  const EngineProgram& program_;
  const EngineOptions& options_;
  bool packs_halves_;
  std::vector<std::vector<Reader>> readers_;  // by value
  std::vector<const ProgramStep*> givers_;    // by value; null: the input, or not stored
  std::vector<bool> may_pack_;                // by value: it may lie in halves of bytes
  std::vector<Place> places_;                 // by value
  std::vector<std::size_t> home_;             // by value: the one in whose place it lies
  std::size_t arena_bytes_ = 0;
};

}  // namespace nibble::inline engine
