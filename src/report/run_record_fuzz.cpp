// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as each file of a run either are read or throw Error; of what is read a
// report and a comparison can be made.
#include <cstdint>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "report/comparison.h"
#include "report/html_report.h"
#include "report/run_record.h"

NIBBLE_FUZZ_TARGET(run_record) {
  using namespace nibble;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  RunRecord run{.path = "fuzz", .name = "fuzz"};
  const auto take = [&](auto read) {
    try {
      read();
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  bool is_read = take([&] { read_settings("settings.json", text, run); });
  is_read |= take([&] { run.summary = read_summary("summary.json", text); });
  is_read |= take([&] { run.epochs = read_epochs("epochs.csv", text); });
  is_read |= take([&] { run.layers = read_layers("layers.csv", text); });
  is_read |= take([&] { run.integers = read_integers("integers.csv", text); });
  is_read |= take([&] { run.histograms = read_histograms("histograms.csv", text); });
  if (!is_read) return 0;
  // From here on nothing may throw.
  (void)report_html({run});
  (void)comparison_table({run, {.path = "other", .name = "other"}});
  return 0;
}
