// SPDX-License-Identifier: Apache-2.0
// Tests that everybody in the list hears everything, in order.
#include "nibble/run_folder/events.h"

#include <gtest/gtest.h>

#include <array>

namespace nibble::inline run_folder {
namespace {

class Notes final : public EventSink {
 public:
  Notes(char name, std::string& heard) : name_(name), heard_(heard) {}
  void scalar(std::string_view tag, std::int64_t step, double value) override {
    note(tag, step, std::to_string(static_cast<int>(value)));
  }
  void histogram(std::string_view tag, std::int64_t step, std::span<const float> values) override {
    note(tag, step, std::to_string(values.size()));
  }
  void text(std::string_view tag, std::int64_t step, std::string_view words) override {
    note(tag, step, std::string(words));
  }
  void flush() override { heard_ += std::string(1, name_) + " flush; "; }

 private:
  void note(std::string_view tag, std::int64_t step, const std::string& what) {
    heard_ += name_;
    heard_ += " " + std::string(tag) + " " + std::to_string(step) + " " + what + "; ";
  }

  char name_;
  std::string& heard_;
};

TEST(EventFan, TellsEverybodyInOrder) {
  std::string heard;
  EventFan fan;
  fan.add(std::make_unique<Notes>('a', heard));
  fan.add(std::make_unique<Notes>('b', heard));
  fan.scalar("loss", 3, 7.0);
  EXPECT_EQ(heard, "a loss 3 7; b loss 3 7; ");
  heard.clear();
  const std::array<float, 2> values{1.0F, 2.0F};
  fan.histogram("w", 4, values);
  fan.text("note", 5, "hello");
  fan.flush();
  EXPECT_EQ(heard, "a w 4 2; b w 4 2; a note 5 hello; b note 5 hello; a flush; b flush; ");
}

TEST(EventFan, WhatIsCountedIsHeardAsOftenAsItCame) {
  std::string heard;
  EventFan fan;
  fan.add(std::make_unique<Notes>('a', heard));
  const std::array values{CountedValue{1.0F, 3}, CountedValue{2.0F, 0}, CountedValue{3.0F, 4}};
  fan.counted_histogram("w", 4, values);
  EXPECT_EQ(heard, "a w 4 7; ");
}

TEST(EventFan, NobodyListeningIsFine) {
  EventFan fan;
  fan.scalar("loss", 0, 1.0);
  fan.flush();
}

}  // namespace
}  // namespace nibble::inline run_folder
