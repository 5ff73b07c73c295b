// SPDX-License-Identifier: Apache-2.0
// A network written step by step, before it becomes files. All names begin with net_.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emit/kernels.h"
#include "emit/plan.h"
#include "nibble/emit/emit.h"

namespace nibble::inline emit {

// Pictures as the codes that an emitted network takes: normalization and rounding as a table.

// code = table[byte], or table[256·channel + byte] where channels differ. None: the input has no
// scale, so that bytes mean nothing to it, or its codes are the bytes themselves.
std::optional<CArray> table_of_bytes(const NetworkView& view, const EmitPlan& plan);

// One step, as the README lists it.
struct StepLine {
  std::string words;
  Interval sums;  // none: 0
};

struct EmittedParts {
  // `integers` is in integer_form. Throws where it does not fit the settings.
  EmittedParts(Model integers, const EmitSettings& settings);

  EmitFigures figures() const;
  bool gives_class() const { return is<ArgMax>(view.node(view.output()).op); }

  NetworkView view;
  EmitPlan plan;
  KernelSet kernels;
  std::vector<CArray> parameters;
  std::optional<CArray> bytes;  // see table_of_bytes
  std::string layers;           // descriptions, static constants
  std::string calls;            // statements
  std::vector<StepLine> lines;  // by step
};

// What the placeholders in the texts of src/emit/folder stand for.
CWords folder_words(const EmittedParts& parts, const EmitSettings& settings, std::int64_t vectors);

// What folder/README.md.in leaves to be said: what a network needs and what is proven of it.
std::string figures_table(const EmittedParts& parts);
std::string certificate_table(const EmittedParts& parts);
std::string input_words(const EmittedParts& parts);

}  // namespace nibble::inline emit
