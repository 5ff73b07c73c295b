// SPDX-License-Identifier: Apache-2.0
// Counts of values in buckets whose width grows by a tenth, on both sides of zero, as TensorBoard's
// own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/run_folder/events.h"

namespace nibble::inline report {

// Of the finite values. Bucket i holds limits[i-1] <= x < limits[i]; empty buckets at both ends are
// left out.
struct BucketHistogram {
  std::int64_t count = 0;
  double smallest = 0;
  double largest = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};

BucketHistogram bucket_histogram(std::span<const float> values);
BucketHistogram bucket_histogram(std::span<const CountedValue> values);

}  // namespace nibble::inline report
