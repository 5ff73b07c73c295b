// SPDX-License-Identifier: Apache-2.0
// A network written step by step, before it becomes files. All names begin with net_.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emit/input_bytes.h"
#include "emit/kernels.h"
#include "emit/plan.h"
#include "nibble/emit/emit.h"

namespace nibble::inline emit {

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

}  // namespace nibble::inline emit
