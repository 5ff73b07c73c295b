// SPDX-License-Identifier: Apache-2.0
// The messages of TensorBoard's event files (event.proto, summary.proto, tensor.proto), framed as
// records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/run_folder/events.h"

namespace nibble::inline report {

// Counts of values in buckets whose width grows by a tenth, on both sides of zero, as TensorBoard's
// own.

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

struct EventTime {
  double seconds = 0;  // since 1970
  std::int64_t step = 0;
};

// The checksum of event files: CRC-32C turned right by 15 bits, plus a constant, so that a checksum
// of bytes that hold checksums stays a good one.
std::uint32_t masked_crc32c(std::string_view bytes);

// Each is a whole record: length, its checksum, the Event, its checksum.
std::string version_record(double seconds);
std::string restart_record(const EventTime& time);  // later steps of older files are void
std::string scalar_record(const EventTime& time, std::string_view tag, double value);
std::string histogram_record(const EventTime& time, std::string_view tag,
                             const BucketHistogram& histogram);
std::string text_record(const EventTime& time, std::string_view tag, std::string_view words);

}  // namespace nibble::inline report
