// SPDX-License-Identifier: Apache-2.0
// An axis: its range, its round ticks, and where a value stands on it.
#pragma once

#include <string>
#include <vector>

namespace nibble::inline report {

struct Tick {
  double value = 0;
  std::string label = {};
};

struct AxisOptions {
  bool is_log = false;
  bool is_whole = false;  // ticks at whole numbers alone
  int most_ticks = 6;
};

class Axis {
 public:
  // Covers [low, high], which need not differ; a logarithmic one needs both positive.
  Axis(double low, double high, const AxisOptions& options = {});

  double share(double value) const;  // 0 at the low end, 1 at the high end
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void add_linear_ticks(const AxisOptions& options);
  void add_decades(const AxisOptions& options);

  double low_;
  double high_;
  bool is_log_;
  std::vector<Tick> ticks_;
};

// As few digits as tell it: 0.05, 1200, 3e-7.
std::string short_number(double value);

}  // namespace nibble::inline report
