// SPDX-License-Identifier: Apache-2.0
// Formats in words: their special values and their scales.
#include "apps/nibble/formats_parts.h"

#include <fmt/format.h>

#include <string_view>

namespace nibble {
namespace {

std::string group_text(const Scaling& s) {
  switch (s.granularity) {
    case Granularity::tensor:
      return "the tensor";
    case Granularity::axis:
      return fmt::format("each index along axis {}", s.axis);
    case Granularity::block:
      return fmt::format("each {} along axis {}", s.block, s.axis);
  }
  return "?";
}

}  // namespace

std::vector<std::string> specials_of(const ElementInfo& info) {
  std::vector<std::string> words;
  if (info.has_infinity) words.emplace_back("inf");
  if (info.has_nan) words.emplace_back("nan");
  if (info.has_negative_zero) words.emplace_back("-0");
  if (!info.has_zero) words.emplace_back("no zero");
  return words;
}

std::string specials_text(const ElementInfo& info) {
  const std::vector<std::string> words = specials_of(info);
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string scaling_text(const Scaling& s) {
  const std::string group = group_text(s);
  switch (s.kind) {
    case ScaleKind::none:
      return "none";
    case ScaleKind::given:
      if (s.granularity == Granularity::axis) return "given scales for " + group;
      return fmt::format("value = (element - {}) · {}", s.zero, s.scale);
    case ScaleKind::power_of_two:
      return fmt::format("2^e for {}, e from the largest magnitude (rule {})", group,
                         to_string(s.rule));
    case ScaleKind::absmax:
      return fmt::format("fp32 scale for {}: largest magnitude / largest element", group);
    case ScaleKind::minmax:
      return fmt::format("fp32 scale and zero point for {}, from its range", group);
    case ScaleKind::two_level:
      if (s.tensor_scale != 0) {
        return fmt::format("e4m3 scale for {}, times {}", group, s.tensor_scale);
      }
      return fmt::format("e4m3 scale for {}, fp32 scale for the tensor", group);
  }
  return "?";
}

}  // namespace nibble
