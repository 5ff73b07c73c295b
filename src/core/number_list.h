// SPDX-License-Identifier: Apache-2.0
// Settings of tests as text: "copy_us=20,slowdown=2".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nibble::inline core {

struct NamedNumber {
  std::string_view name;
  std::int64_t* number;
};

// Writes the numbers that the text names, 0 to 10^9 each; throws, naming the `variable` of the
// environment that had the text, where it is no such list.
void read_numbers(std::string_view variable, std::string_view text,
                  std::span<const NamedNumber> numbers);

}  // namespace nibble::inline core
