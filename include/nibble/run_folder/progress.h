// SPDX-License-Identifier: Apache-2.0
// How far a run is: a bar on a terminal, plain lines in a pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace nibble::inline run_folder {

enum class ProgressStyle : std::uint8_t {
  automatic,  // bar on a terminal, else lines
  bar,
  lines,
  silent,
};

struct ProgressOptions {
  ProgressStyle style = ProgressStyle::automatic;
  int descriptor = 2;                // stderr
  double seconds_between = 0;        // 0: 0.1 for a bar, 10 for lines
  std::string_view unit = "images";  // of the rate
};

struct ProgressValue {
  std::string_view name;
  double value;
};

// What a bar shows at one moment.
struct ProgressView {
  std::string_view label = {};
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: unknown
  double seconds = 0;      // since the start
  std::string_view unit = "images";
  std::span<const ProgressValue> values = {};
};

struct BarLook {
  int width = 80;  // columns; what does not fit is left out, last first
  bool has_blocks = false;
  bool has_color = false;
};

std::string bar_text(const ProgressView& view, const BarLook& look);  // never wider than width
std::string line_text(const ProgressView& view);
std::string duration_text(double seconds);  // "8 s", "1:05", "2:03:04", "3 d 4 h"

// One stretch of work, say an epoch. The bar is one line that is drawn again and taken away at the
// end, whatever ends it: nothing of the terminal is changed that would have to be put back.
class Progress {
 public:
  Progress(std::string label, std::int64_t total, const ProgressOptions& options = {});
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough for every batch; most calls only look at the clock.
  void update(std::int64_t done, std::span<const ProgressValue> values = {});

  // A whole line above the bar, in every style but silent.
  void print(std::string_view line);

  double seconds() const;  // since the start
  void finish();           // takes the bar away; updates after it do nothing

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nibble::inline run_folder
