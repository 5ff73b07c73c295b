// SPDX-License-Identifier: Apache-2.0
// Enumerations and their words: one table serves reading, writing and error messages.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nibble::inline numerics {

template <class Enum, std::size_t kCount>
using WordTable = std::array<std::pair<Enum, std::string_view>, kCount>;

template <class Enum, std::size_t kCount>
constexpr std::string_view word_of(const WordTable<Enum, kCount>& words, Enum value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return word;
  }
  return "?";
}

template <class Enum, std::size_t kCount>
constexpr std::optional<Enum> value_of(const WordTable<Enum, kCount>& words,
                                       std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

// "a, b or c", for the message that says what was expected.
template <class Enum, std::size_t kCount>
std::string list_of(const WordTable<Enum, kCount>& words) {
  std::string list(words.front().second);
  for (std::size_t i = 1; i < kCount; ++i) {
    list.append(i + 1 < kCount ? ", " : " or ").append(words[i].second);
  }
  return list;
}

}  // namespace nibble::inline numerics
