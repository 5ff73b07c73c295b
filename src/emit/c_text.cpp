// SPDX-License-Identifier: Apache-2.0
// Writes C text.
#include "emit/c_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "nibble/core/error.h"

#include "core/name.h"

namespace nibble::inline emit {
namespace {

struct TypeNames {
  std::string_view brief;
  std::string_view c;
  std::int64_t size;
};

constexpr TypeNames kTypes[] = {{"s8", "int8_t", 1},   {"u8", "uint8_t", 1},
                                {"s16", "int16_t", 2}, {"u16", "uint16_t", 2},
                                {"s32", "int32_t", 4}, {"s64", "int64_t", 8}};

const TypeNames& names_of(CType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

constexpr std::size_t kLineWidth = 98;
constexpr std::string_view kCommentSigns = " -.,:()+=/@";  // no \ and no ?, of which trigraphs are

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

std::string number_text(CType type, std::int64_t number) {
  if (type == CType::s64) return fmt::format("INT64_C({})", number);
  if (type == CType::s32) return fmt::format("INT32_C({})", number);
  return std::to_string(number);
}

// One identifier with its prefix and the words that are parts of it.
std::string renamed(std::string_view word, std::string_view prefix, const CWords& words) {
  if (const auto whole = words.find(word); whole != words.end()) return whole->second;
  std::string result;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find('_', begin), word.size());
    const std::string_view part = word.substr(begin, end - begin);
    const bool is_prefix = begin == 0 && end < word.size();
    if (is_prefix && part == "net") {
      result += prefix;
    } else if (is_prefix && part == "NET") {
      result += upper_case(prefix);
    } else if (const auto found = words.find(part); found != words.end()) {
      result += found->second;
    } else {
      result += part;
    }
    if (end < word.size()) result += '_';
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string_view short_name(CType type) {
  return names_of(type).brief;
}
std::string_view c_name(CType type) {
  return names_of(type).c;
}
std::int64_t size_of(CType type) {
  return names_of(type).size;
}

bool is_c_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_word);
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

std::string c_part(std::string_view node_name) {
  std::string result(node_name);
  std::ranges::replace_if(
      result, [](char c) { return !is_word(c); }, '_');
  return result;
}

std::string comment_part(std::string_view words) {
  std::string result = well_formed(words);
  std::ranges::replace_if(
      result,
      [](char c) {
        const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
        return is_ascii && !is_word(c) && kCommentSigns.find(c) == std::string_view::npos;
      },
      '_');
  return result;
}

std::string declaration_of(const CArray& array) {
  return fmt::format("extern const {} {}[{}];\n", c_name(array.type), array.name,
                     array.numbers.size());
}

std::string definition_of(const CArray& array) {
  std::string text = fmt::format("const {} {}[{}] NET_FLASH = {{", c_name(array.type), array.name,
                                 array.numbers.size());
  std::size_t width = kLineWidth;
  for (const std::int64_t number : array.numbers) {
    const std::string each = number_text(array.type, number);
    if (width + each.size() + 2 > kLineWidth) {
      text += "\n ";
      width = 1;
    }
    text += ' ' + each + ',';
    width += each.size() + 2;
  }
  return text + "\n};\n";
}

std::string int32_text(std::int64_t value) {
  if (value < -INT32_MAX || value > INT32_MAX) {
    throw Error("emit", "number", std::to_string(value), "32 bits, as all numbers of the C have");
  }
  return std::to_string(value);
}

CFields& CFields::add(std::string_view name, std::string_view value) {
  lines_ += fmt::format("  .{} = ", name);
  for (const char c : value) {
    lines_ += c;
    if (c == '\n') lines_ += "  ";
  }
  lines_ += ",\n";
  return *this;
}

CFields& CFields::add(std::string_view name, std::int64_t value) {
  return add(name, int32_text(value));
}

std::string CFields::text() const {
  return fmt::format("{{\n{}}}", lines_);
}

std::string with_names(std::string_view text, std::string_view prefix, const CWords& words) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      result += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    result += renamed(text.substr(i, end - i), prefix, words);
    i = end;
  }
  return result;
}

std::string_view without_license(std::string_view text) {
  return text.starts_with("// SPDX") || text.starts_with("# SPDX")
             ? text.substr(text.find('\n') + 1)
             : text;
}

}  // namespace nibble::inline emit
