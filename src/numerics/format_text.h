// SPDX-License-Identifier: Apache-2.0
// The text form of a format taken apart: name(argument, …), each argument asked for by its reader.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nibble::inline numerics {

class FormatText {
 public:
  struct Argument {
    std::string_view key;  // empty for a bare value
    std::string_view value;
    std::size_t column = 0;
    bool used = false;
  };

  explicit FormatText(std::string_view text);

  std::string_view text() const { return text_; }
  std::string_view name() const { return name_; }
  std::size_t name_column() const { return name_column_; }

  const Argument* bare();                                // the next bare argument, or null
  const Argument* take(std::string_view key);            // a key=value argument, or null
  int positional(std::string_view what);                 // a bare integer that must be there
  bool flag(std::string_view word);                      // whether a bare word is there
  bool switch_of(std::string_view key, bool otherwise);  // key=on|off
  void reject_leftovers() const;                         // an argument that nobody asked for

  template <class T>
  T number(std::string_view digits, std::size_t column) const;
  template <class T>
  T number(const Argument& argument) const {
    return number<T>(argument.value, argument.column);
  }
  std::vector<float> list_of(const Argument& argument) const;  // "[a, b, …]"

  // Errors name the column, counted from 1.
  [[noreturn]] void fail(std::string_view what, std::size_t column, std::string_view got,
                         std::string_view expected) const;
  [[noreturn]] void fail(std::string_view what, const Argument& argument,
                         std::string_view expected) const;

 private:
  void split();
  void add_argument(std::size_t begin, std::size_t end);

  std::string_view text_;
  std::string_view name_;
  std::size_t name_column_ = 0;
  std::vector<Argument> arguments_;
};

template <class T>
T FormatText::number(std::string_view digits, std::size_t column) const {
  T value{};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) {
    const bool is_beyond = error == std::errc::result_out_of_range;
    fail("wrong number", column, digits,
         is_beyond               ? "a number within range"
         : std::is_integral_v<T> ? "an integer"
                                 : "a number");
  }
  return value;
}

}  // namespace nibble::inline numerics
