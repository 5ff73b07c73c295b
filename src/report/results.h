// SPDX-License-Identifier: Apache-2.0
// The figures by which runs are judged: where each stands in a record, and how it is written.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/run_record.h"

namespace nibble::inline report {

enum class ResultUnit { share, number, seconds, mebibytes, count };

struct ResultKind {
  std::string_view name;   // for programs: test_top1
  std::string_view title;  // for people: test top-1
  ResultUnit unit;
  double (*value)(const RunRecord& run);  // kAbsent where it has none
};

std::span<const ResultKind> result_kinds();

// "97.31 %", "0.0921", "3 min 20 s"; "" of what is absent.
std::string shown(const ResultKind& kind, double value);
std::string shown_share(double share);
std::string shown_time(double seconds);

}  // namespace nibble::inline report
