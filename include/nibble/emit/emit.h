// SPDX-License-Identifier: Apache-2.0
// Integer networks as plain C99: no heap, no floats, no library, the integers of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline emit {

struct EmitSettings {
  std::string prefix = "net";         // of all names; a C identifier
  bool uses_dsp = false;              // dual multiply-accumulates where the compiler has them
  std::int64_t batch = 1;             // examples of one call
  bool has_training = false;          // files of emit_training will lie beside
  std::optional<std::int64_t> ram;    // most bytes of the arena
  std::optional<std::int64_t> flash;  // most bytes of the parameters
};

// Examples and what the network answers to them: its integers, one example after another.
struct TestVectors {
  std::int64_t count = 0;
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> outputs;
};

struct EmittedFile {
  std::string name;
  std::string text;
};

// Where a value lies in the arena, and the layers between which it is used, both included.
struct ArenaValue {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::string first;
  std::string last;
};

// What emitted code needs, in bytes and products.
struct EmitFigures {
  std::int64_t arena_bytes = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t macs = 0;           // of one example
  std::vector<ArenaValue> values;  // of the arena
  std::string plan;                // the same as a table
};

struct EmittedNetwork {
  std::vector<EmittedFile> files;
  EmitFigures figures;
};

// Throws one line that names what has no C form, or the layer that does not fit.
void check_emittable(const Model& model, const EmitSettings& settings);

// The same, and what the code would need.
EmitFigures emit_figures(const Model& model, const EmitSettings& settings);

// Any network that integer_form takes and check_emittable lets pass.
EmittedNetwork emit_c(const Model& model, const EmitSettings& settings, const TestVectors& vectors);

}  // namespace nibble::inline emit
