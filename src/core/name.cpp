// SPDX-License-Identifier: Apache-2.0
// Looks at UTF-8 character by character.
#include "core/name.h"

#include <fmt/format.h>

#include <utility>

#include <algorithm>
#include <array>
#include <cstdint>

#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline core {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::size_t kQuoted = 60;    // characters
constexpr std::size_t kMostBytes = 4;  // of a character

// The character that begins a text, and its bytes; 0 bytes where the first one begins none.
struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;
};

Character first_of(std::string_view words) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(words[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {.code = first, .size = 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || words.size() < size) return {};
  std::uint32_t code = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[size] || code > 0x10ffff || is_surrogate) return {};
  return {.code = code, .size = size};
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || (code >= 0xfffe && code <= 0xffff);
}

bool is_first_byte(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

bool is_file_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

bool is_printable(std::string_view words) {
  while (!words.empty()) {
    const Character character = first_of(words);
    if (character.size == 0 || is_control(character.code)) return false;
    words.remove_prefix(character.size);
  }
  return true;
}

void check_name_length(std::string_view op, std::string_view what, std::string_view name) {
  const std::int64_t most = limits().name;
  if (std::cmp_less_equal(name.size(), most)) return;
  throw Error(op, what, fmt::format("{} bytes", name.size()), at_most("name", most),
              ErrorKind::limit);
}

void check_name(std::string_view op, std::string_view what, std::string_view name) {
  check_name_length(op, what, name);
  if (!is_printable(name)) {
    throw Error(op, what, in_quotes(name), "UTF-8 without control characters", ErrorKind::input);
  }
}

std::string well_formed(std::string_view words) {
  std::string result;
  while (!words.empty()) {
    const Character character = first_of(words);
    const std::size_t size = std::max<std::size_t>(character.size, 1);
    if (character.code == '\t' || character.code == '\n' || character.code == '\r')
      result += ' ';
    else if (character.size == 0 || is_control(character.code))
      result += kReplacement;
    else
      result += words.substr(0, size);
    words.remove_prefix(size);
  }
  return result;
}

std::size_t width_of(std::string_view words) {
  return static_cast<std::size_t>(std::ranges::count_if(words, is_first_byte));
}

std::string shortened(std::string_view words, std::size_t most) {
  std::string result = well_formed(words);
  if (width_of(result) <= most) return result;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < result.size(); ++end) {
    if (is_first_byte(result[end]) && ++seen == most) break;
  }
  return result.substr(0, end) + "…";
}

// What is cut off is not looked at: the words may be megabytes.
std::string in_quotes(std::string_view words) {
  return fmt::format("'{}'", shortened(words.substr(0, kMostBytes * (kQuoted + 1)), kQuoted));
}

// Only the last star is ever tried again, so that no pattern takes long.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;     // in the pattern
  std::size_t place = 0;  // in the name
  std::size_t star = std::string_view::npos;
  std::size_t behind_star = 0;  // of the name, where the star ends for now
  while (place < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      behind_star = place;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[place])) {
      ++at;
      ++place;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      place = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

std::string file_part(std::string_view name) {
  std::string part(name);
  std::ranges::replace_if(
      part, [](char c) { return !is_file_letter(c); }, '_');
  if (part.starts_with('.') || part.starts_with('-')) part[0] = '_';
  return part;
}

}  // namespace nibble::inline core
