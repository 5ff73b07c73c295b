// SPDX-License-Identifier: Apache-2.0
// C text: identifiers, arrays, and kernels whose placeholders become names and types.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline emit {

// Integer types of emitted code.
enum class CType : std::uint8_t { s8, u8, s16, u16, s32, s64 };

std::string_view short_name(CType type);  // "s8"
std::string_view c_name(CType type);      // "int8_t"
std::int64_t size_of(CType type);

bool is_c_identifier(std::string_view text);
std::string upper_case(std::string_view text);

// A node's name as a part of an identifier: what C does not allow becomes '_'.
std::string c_part(std::string_view node_name);

// Words as they may stand in a comment of C and in Markdown: control characters and the signs that
// could end the comment, continue its line or mark up become '_'.
std::string comment_part(std::string_view words);

// A constant in flash. A 4-bit one is given packed, as u8.
struct CArray {
  std::string name;
  CType type = CType::s8;
  std::vector<std::int64_t> numbers;

  std::int64_t bytes() const { return size_of(type) * static_cast<std::int64_t>(numbers.size()); }
};
std::string declaration_of(const CArray& array);  // "extern const int8_t net_fc_weights[10];"
std::string definition_of(const CArray& array);

// A number of emitted code that is an int32_t; throws where it is none.
std::string int32_text(std::int64_t value);

// The initializer of a structure, a line for each field.
class CFields {
 public:
  CFields& add(std::string_view name, std::string_view value);
  CFields& add(std::string_view name, std::int64_t value);
  std::string text() const;  // "{\n  .name = value,\n}"

 private:
  std::string lines_;
};

// Identifiers that begin with net_ and NET_ get the prefix; parts of identifiers between '_' and
// whole identifiers that `words` has are replaced by what it says.
using CWords = std::map<std::string, std::string, std::less<>>;
std::string with_names(std::string_view text, std::string_view prefix, const CWords& words = {});

// Without its line on the license.
std::string_view without_license(std::string_view text);

}  // namespace nibble::inline emit
