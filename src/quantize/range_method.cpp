// SPDX-License-Identifier: Apache-2.0
// Methods as text.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/quantize/range.h"

namespace nibble {
namespace {

using Kind = RangeMethod::Kind;
constexpr std::array<std::pair<std::string_view, Kind>, 4> kPlain = {{
    {"max", Kind::max},
    {"entropy", Kind::entropy},
    {"mse", Kind::mse},
    {"average", Kind::average},
}};
constexpr std::string_view kPercentile = "percentile:";

}  // namespace

RangeMethod parse_range_method(std::string_view text) {
  for (const auto& [name, kind] : kPlain) {
    if (text == name) return {.kind = kind};
  }
  if (text.starts_with(kPercentile)) {
    double percent = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kPercentile.size(), end, percent);
    if (error == std::errc{} && stop == end && percent >= 50 && percent <= 100) {
      return {.kind = Kind::percentile, .percent = percent};
    }
  }
  throw Error("calibrate", "method", fmt::format("'{}'", text),
              "max, percentile:P with P from 50 to 100, entropy, mse or average");
}

std::string to_string(const RangeMethod& method) {
  for (const auto& [name, kind] : kPlain) {
    if (method.kind == kind) return std::string(name);
  }
  return fmt::format("{}{}", kPercentile, method.percent);
}

}  // namespace nibble
