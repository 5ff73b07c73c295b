// SPDX-License-Identifier: Apache-2.0
// The text form of a format taken apart: name(argument, …).
#include "numerics/format_text.h"

#include <algorithm>
#include <cmath>

#include "nibble/core/error.h"

namespace nibble::inline numerics {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

FormatText::FormatText(std::string_view text) : text_(text) {
  if (trimmed(text).empty()) throw Error("format", "empty format", "''", "a name such as e4m3");
  split();
}

void FormatText::fail(std::string_view what, std::size_t column, std::string_view got,
                      std::string_view expected) const {
  throw Error("format",
              std::string(what) + " at column " + std::to_string(column + 1) + " of '" +
                  std::string(text_) + "'",
              "'" + std::string(got) + "'", expected);
}

void FormatText::fail(std::string_view what, const Argument& argument,
                      std::string_view expected) const {
  fail(what, argument.column, argument.value, expected);
}

void FormatText::split() {
  const std::size_t open = text_.find('(');
  name_ = trimmed(text_.substr(0, open));
  name_column_ = name_.empty() ? 0 : static_cast<std::size_t>(name_.data() - text_.data());
  if (open == std::string_view::npos) return;
  if (trimmed(text_).back() != ')') {
    fail("unfinished argument list", text_.size(), "", "a closing ')'");
  }
  const std::size_t close = text_.rfind(')');
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = begin; i < close; ++i) {
    if (text_[i] == '(' || text_[i] == ')')
      fail("stray parenthesis", i, text_.substr(i, 1), "none");
    if (text_[i] == '[') ++depth;
    if (text_[i] == ']') --depth;
    if (depth < 0 || depth > 1) fail("stray bracket", i, text_.substr(i, 1), "one list [a, b, …]");
    if (text_[i] == ',' && depth == 0) {
      add_argument(begin, i);
      begin = i + 1;
    }
  }
  if (depth != 0) fail("unfinished list", close, ")", "a closing ']'");
  add_argument(begin, close);
}

void FormatText::add_argument(std::size_t begin, std::size_t end) {
  const std::string_view whole = text_.substr(begin, end - begin);
  const std::string_view argument = trimmed(whole);
  if (argument.empty()) fail("empty argument", begin, "", "a number, a word or key=value");
  const auto column = static_cast<std::size_t>(argument.data() - text_.data());
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) {
    arguments_.push_back({{}, argument, column});
  } else {
    const std::string_view key = trimmed(argument.substr(0, equals));
    if (key.empty()) fail("missing key", column, argument, "key=value");
    arguments_.push_back({key, trimmed(argument.substr(equals + 1)), column});
  }
}

const FormatText::Argument* FormatText::bare() {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                  [](const Argument& a) { return a.key.empty() && !a.used; });
  if (found == arguments_.end()) return nullptr;
  found->used = true;
  return &*found;
}

const FormatText::Argument* FormatText::take(std::string_view key) {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                  [&](const Argument& a) { return a.key == key && !a.used; });
  if (found == arguments_.end()) return nullptr;
  found->used = true;
  return &*found;
}

int FormatText::positional(std::string_view what) {
  const Argument* argument = bare();
  if (argument == nullptr) fail("missing argument", text_.size(), "", what);
  return number<int>(*argument);
}

bool FormatText::flag(std::string_view word) {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& a) {
    return a.key.empty() && !a.used && a.value == word;
  });
  if (found == arguments_.end()) return false;
  found->used = true;
  return true;
}

bool FormatText::switch_of(std::string_view key, bool otherwise) {
  const Argument* argument = take(key);
  if (argument == nullptr) return otherwise;
  if (argument->value != "on" && argument->value != "off") {
    fail("wrong switch", *argument, "on or off");
  }
  return argument->value == "on";
}

std::vector<float> FormatText::list_of(const Argument& argument) const {
  std::vector<float> values;
  std::string_view rest = argument.value;
  rest.remove_prefix(1);
  rest.remove_suffix(1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    const auto column = static_cast<std::size_t>(item.data() - text_.data());
    values.push_back(number<float>(item, column));
    if (!std::isfinite(values.back())) fail("wrong number", column, item, "a finite number");
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

void FormatText::reject_leftovers() const {
  for (const Argument& a : arguments_) {
    if (!a.used) {
      fail("unexpected argument", a.column, a.key.empty() ? a.value : a.key,
           "an option of " + std::string(name_) + " (see docs/formats)");
    }
  }
}

}  // namespace nibble::inline numerics
