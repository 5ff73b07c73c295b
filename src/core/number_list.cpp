// SPDX-License-Identifier: Apache-2.0
// Lists of named numbers.
#include "core/number_list.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline core {

void read_numbers(std::string_view variable, std::string_view text,
                  std::span<const NamedNumber> numbers) {
  constexpr std::int64_t kMost = 1'000'000'000;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const auto named = std::ranges::find(numbers, item.substr(0, equals), &NamedNumber::name);
    const char* end = item.data() + item.size();
    std::int64_t value = -1;
    if (equals < item.size()) {
      const auto read = std::from_chars(item.data() + equals + 1, end, value);
      if (read.ec != std::errc() || read.ptr != end) value = -1;
    }
    if (named == numbers.end() || value < 0 || value > kMost) {
      std::string expected;
      for (const NamedNumber& each : numbers)
        expected += (expected.empty() ? "" : ", ") + std::string(each.name) + "=N";
      throw Error("options", variable, item, expected);
    }
    *named->number = value;
  }
}

}  // namespace nibble::inline core
