// SPDX-License-Identifier: Apache-2.0
// The metric that a schedule or early stopping watches, out of an epoch's row.
#pragma once

#include "nibble/run/best.h"
#include "nibble/run/run_rows.h"

namespace nibble {

// Without a validation split the train split stands in for it.
double metric_of(const EpochRow& row, Metric metric);

}  // namespace nibble
