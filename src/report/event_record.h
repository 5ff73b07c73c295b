// SPDX-License-Identifier: Apache-2.0
// The messages of TensorBoard's event files (event.proto, summary.proto, tensor.proto), framed as
// records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/bucket_histogram.h"

namespace nibble::inline report {

struct EventTime {
  double seconds = 0;  // since 1970
  std::int64_t step = 0;
};

// Each is a whole record: length, its checksum, the Event, its checksum.
std::string version_record(double seconds);
std::string restart_record(const EventTime& time);  // later steps of older files are void
std::string scalar_record(const EventTime& time, std::string_view tag, double value);
std::string histogram_record(const EventTime& time, std::string_view tag,
                             const BucketHistogram& histogram);
std::string text_record(const EventTime& time, std::string_view tag, std::string_view words);

}  // namespace nibble::inline report
