// SPDX-License-Identifier: Apache-2.0
// What a run tells while it goes on; who listens is decided elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nibble::inline run_folder {

struct CountedValue {
  float value = 0;
  std::int64_t count = 0;
};

class EventSink {
 public:
  virtual ~EventSink() = default;

  // `tag` is a path such as "train/loss" or "sqnr/weight/conv1".
  virtual void scalar(std::string_view tag, std::int64_t step, double value) = 0;
  virtual void histogram(std::string_view tag, std::int64_t step,
                         std::span<const float> values) = 0;
  // The same of numbers that come often.
  virtual void counted_histogram(std::string_view tag, std::int64_t step,
                                 std::span<const CountedValue> values) {
    std::vector<float> each;
    for (const CountedValue& counted : values)
      each.insert(each.end(), static_cast<std::size_t>(counted.count), counted.value);
    histogram(tag, step, each);
  }
  virtual void text(std::string_view tag, std::int64_t step, std::string_view words) = 0;

  // Everything told so far reaches the disk.
  virtual void flush() = 0;
};

// Tells everybody in the list.
class EventFan final : public EventSink {
 public:
  void add(std::unique_ptr<EventSink> sink) { sinks_.push_back(std::move(sink)); }
  void scalar(std::string_view tag, std::int64_t step, double value) override;
  void histogram(std::string_view tag, std::int64_t step, std::span<const float> values) override;
  void counted_histogram(std::string_view tag, std::int64_t step,
                         std::span<const CountedValue> values) override;
  void text(std::string_view tag, std::int64_t step, std::string_view words) override;
  void flush() override;

 private:
  std::vector<std::unique_ptr<EventSink>> sinks_;
};

}  // namespace nibble::inline run_folder
