// SPDX-License-Identifier: Apache-2.0
// What copies of a step cost, tensor by tensor.
#pragma once

#include <functional>
#include <vector>

#include "placement/measure.h"

namespace nibble::inline placement {

struct CopySteps {
  const Network& network;
  const IntegerOptions& options;
  std::int64_t images;
  const Backends& backends;
  std::int64_t most_memory;  // on the second device; 0: any
  std::vector<Sides> parts;  // that it has room for
};

// Layouts and kinds of tensors make copies of the same size unlike, so each is measured: in steps
// of placements by chance, in which every tensor crosses now and then. Needs all other costs.
// `as_usual` is told what a step takes and says what it would have taken when they were measured.
void measure_copies(const CopySteps& steps, MeasuredStep& measured,
                    const std::function<Nanoseconds(Nanoseconds)>& as_usual);

}  // namespace nibble::inline placement
