// SPDX-License-Identifier: Apache-2.0
// Values into words and back.
#include "run_folder/words.h"

#include <fmt/format.h>

#include <charconv>

#include "nibble/core/error.h"

namespace nibble::inline run_folder {
namespace {

template <class T>
T value_of(const Words& words, const std::string& name, std::string_view expected) {
  const std::string text = text_word(words, name);
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) {
    throw Error("checkpoint", "word " + name, "'" + text + "'", expected, ErrorKind::input);
  }
  return value;
}

}  // namespace

void put_text(Words& words, const std::string& name, std::string_view value) {
  words[name] = value;
}

void put_integer(Words& words, const std::string& name, std::int64_t value) {
  words[name] = fmt::format("{}", value);
}

void put_number(Words& words, const std::string& name, double value) {
  words[name] = fmt::format("{}", value);
}

std::string text_word(const Words& words, const std::string& name) {
  const auto found = words.find(name);
  if (found == words.end())
    throw Error("checkpoint", "word " + name, "none", "a value", ErrorKind::input);
  return found->second;
}

std::int64_t integer_word(const Words& words, const std::string& name) {
  return value_of<std::int64_t>(words, name, "an integer");
}

double number_word(const Words& words, const std::string& name) {
  return value_of<double>(words, name, "a number");
}

}  // namespace nibble::inline run_folder
