// SPDX-License-Identifier: Apache-2.0
// Reads accuracy logs; what they say is checked before it is believed.
#include "inference/accuracy_log.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline inference {
namespace {

// "0F020000": the lowest byte first, two digits each.
std::optional<std::int32_t> class_of(std::string_view hex) {
  std::uint64_t value = 0;
  for (std::size_t i = hex.size(); i > 0; i -= 2) {
    unsigned byte = 0;
    const char* end = hex.data() + i;
    const auto [last, error] = std::from_chars(end - 2, end, byte, 16);
    if (error != std::errc() || last != end) return std::nullopt;
    value = value << 8 | byte;
  }
  if (value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

// Empty where it is no list of classes.
std::vector<std::int32_t> classes_of(std::string_view hex) {
  const std::size_t digits = hex.size() == 16 ? 16 : 8;
  if (hex.size() % digits != 0) return {};
  std::vector<std::int32_t> classes;
  for (std::size_t at = 0; at < hex.size(); at += digits) {
    const std::optional<std::int32_t> answer = class_of(hex.substr(at, digits));
    if (!answer) return {};
    classes.push_back(*answer);
  }
  return classes;
}

LoggedAnswers first_of_each(const LoggedClasses& logged) {
  LoggedAnswers answers;
  for (const auto& [index, classes] : logged) answers.emplace(index, classes.front());
  return answers;
}

// Of an entry's key, for an error.
std::string words_of(const nlohmann::json& entry, const char* key) {
  if (!entry.is_object()) return fmt::format("no object but {}", entry.type_name());
  const auto value = entry.find(key);
  if (value == entry.end()) return "nothing";
  if (value->is_string()) return in_quotes(value->get_ref<const std::string&>());
  return value->is_primitive() ? value->dump() : value->type_name();
}

}  // namespace

LoggedClasses parse_logged_classes(std::string_view text, const std::string& name) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) {
    throw Error("accuracy log", name, json.is_discarded() ? "no JSON" : json.type_name(),
                "a list of answers", ErrorKind::input);
  }
  LoggedClasses answers;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto& entry = json[i];
    const auto fail = [&](const char* key, std::string_view expected) {
      throw Error("accuracy log", fmt::format("{}: answer {}: {}", name, i, key),
                  words_of(entry, key), expected, ErrorKind::input);
    };
    const auto index = entry.is_object() ? entry.find("qsl_idx") : entry.end();
    if (index == entry.end() || !index->is_number_unsigned() ||
        index->get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      fail("qsl_idx", "an index from 0");
    }
    const auto data = entry.find("data");
    if (data == entry.end() || !data->is_string()) fail("data", "8 or 16 hex digits");
    std::vector<std::int32_t> classes = classes_of(data->get_ref<const std::string&>());
    if (classes.empty()) fail("data", "8 or 16 hex digits of a class");
    answers.emplace(index->get<std::int64_t>(), std::move(classes));
  }
  return answers;
}

LoggedClasses read_logged_classes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) throw Error("accuracy log", "cannot open " + path.string(), ErrorKind::system);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw Error("accuracy log", "cannot read " + path.string(), ErrorKind::system);
  return parse_logged_classes(text, path.string());
}

LoggedAnswers parse_accuracy_log(std::string_view text, const std::string& name) {
  return first_of_each(parse_logged_classes(text, name));
}
LoggedAnswers read_accuracy_log(const std::filesystem::path& path) {
  return first_of_each(read_logged_classes(path));
}

}  // namespace nibble::inline inference
