// SPDX-License-Identifier: Apache-2.0
// Tells everybody who listens, in the order of the list.
#include "nibble/run_folder/events.h"

namespace nibble::inline run_folder {

void EventFan::scalar(std::string_view tag, std::int64_t step, double value) {
  for (const auto& sink : sinks_) sink->scalar(tag, step, value);
}

void EventFan::histogram(std::string_view tag, std::int64_t step, std::span<const float> values) {
  for (const auto& sink : sinks_) sink->histogram(tag, step, values);
}

void EventFan::counted_histogram(std::string_view tag, std::int64_t step,
                                 std::span<const CountedValue> values) {
  for (const auto& sink : sinks_) sink->counted_histogram(tag, step, values);
}

void EventFan::text(std::string_view tag, std::int64_t step, std::string_view words) {
  for (const auto& sink : sinks_) sink->text(tag, step, words);
}

void EventFan::flush() {
  for (const auto& sink : sinks_) sink->flush();
}

}  // namespace nibble::inline run_folder
