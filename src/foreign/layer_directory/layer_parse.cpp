// SPDX-License-Identifier: Apache-2.0
// Values of the keys of a layer from their text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "foreign/layer_directory/layer_keys.h"
#include "graph/node_error.h"
#include "graph/shapes.h"
#include "nibble/core/shape.h"

namespace nibble::inline foreign {
namespace {

constexpr std::array<StoredType, 6> kStoredTypes = {StoredType::s4,  StoredType::s8,
                                                    StoredType::s16, StoredType::u16,
                                                    StoredType::s32, StoredType::f32};

// 0 to kMaxNumber as a person writes it: no sign, no zeros in front.
std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0 || number > kMaxNumber) return {};
  if (text != std::to_string(number)) return {};
  return number;
}

// "N:a b c" with N numbers.
std::optional<std::vector<std::int64_t>> tuple_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto count = integer_of(text.substr(0, colon));
  if (!count || *count < 1 || *count > static_cast<std::int64_t>(kMaxRank)) return {};
  text.remove_prefix(colon + 1);
  std::vector<std::int64_t> numbers;
  for (;;) {
    const std::size_t blank = text.find(' ');
    const auto number = integer_of(text.substr(0, blank));
    if (!number) return {};
    numbers.push_back(*number);
    if (blank == std::string_view::npos) break;
    text.remove_prefix(blank + 1);
  }
  if (static_cast<std::int64_t>(numbers.size()) != *count) return {};
  return numbers;
}

// Takes the keys that a layer asks for, and knows in the end which were left.
class KeyReader {
 public:
  explicit KeyReader(const LayerRecord& record) : record_(record) {}

  void operator()(std::string_view key, std::string& word) {
    word = value(key, "a mode such as u4s4s32").value;
    if (word.empty()) fail(key, "a mode such as u4s4s32");
  }
  void operator()(std::string_view key, std::int64_t& number) {
    const std::string expected = fmt::format("an integer, 0 to {}", kMaxNumber);
    const auto found = integer_of(value(key, expected).value);
    if (!found) fail(key, expected);
    number = *found;
  }
  void operator()(std::string_view key, bool& is_true) {
    const std::string& text = value(key, "True or False").value;
    if (text != "True" && text != "False") fail(key, "True or False");
    is_true = text == "True";
  }
  void operator()(std::string_view key, Extent2& extent) {
    constexpr std::string_view kExpected = "two numbers such as 2:3 3";
    const auto numbers = tuple_of(value(key, kExpected).value);
    if (!numbers || numbers->size() != 2) fail(key, kExpected);
    extent = {(*numbers)[0], (*numbers)[1]};
  }
  void operator()(std::string_view key, StoredTensor& tensor) {
    constexpr std::string_view kExpected = "a tensor such as s4,4:64 64 1 1";
    const LayerEntry& entry = value(key, kExpected, true);
    const std::string_view text = entry.value;
    const std::size_t comma = text.find(',');
    const auto type = std::find_if(kStoredTypes.begin(), kStoredTypes.end(), [&](StoredType each) {
      return name_of(each) == text.substr(0, comma);
    });
    if (comma == std::string_view::npos || type == kStoredTypes.end()) fail(key, kExpected);
    const auto extents = tuple_of(text.substr(comma + 1));
    if (!extents) fail(key, kExpected);
    check_size(key, *extents);
    if (entry.path.empty()) record_.fail_path(key, "nothing", "a path on the next line, !…");
    tensor = {.type = *type, .extents = *extents, .path = entry.path};
  }

  void finish() const {
    for (const LayerEntry& entry : record_.entries) {
      if (std::find(known_.begin(), known_.end(), entry.key) == known_.end()) {
        record_.fail(entry.key, "an unknown key",
                     fmt::format("the keys of {}: {}", record_.type, fmt::join(known_, ", ")));
      }
    }
  }

 private:
  const LayerEntry& value(std::string_view key, std::string_view expected, bool has_data = false) {
    known_.push_back(key);
    const LayerEntry* entry = record_.find(key);
    if (entry == nullptr) record_.fail(key, "nothing", expected);
    if (!has_data && !entry->path.empty()) {
      record_.fail_path(key, in_quotes(entry->path), "none: it is no tensor");
    }
    return *entry;
  }

  [[noreturn]] void fail(std::string_view key, std::string_view expected) const {
    record_.fail(key, in_quotes(record_.find(key)->value), expected);
  }

  // No product before it is known to be small enough.
  void check_size(std::string_view key, const std::vector<std::int64_t>& extents) const {
    std::int64_t elements = 1;
    for (const std::int64_t extent : extents) {
      if (extent < 1 || extent > kMaxTensor / elements) {
        fail(key, fmt::format("extents of 1 or more, {} elements at most", kMaxTensor));
      }
      elements *= extent;
    }
  }

  const LayerRecord& record_;
  std::vector<std::string_view> known_;
};

template <class AnyLayer>
bool read_as(const LayerRecord& record, Layer& layer) {
  if (record.type != AnyLayer::kType) return false;
  AnyLayer read;
  KeyReader reader(record);
  visit_keys(read, reader);
  reader.finish();
  layer = std::move(read);
  return true;
}

template <std::size_t... kIndices>
bool read_any(const LayerRecord& record, Layer& layer, std::index_sequence<kIndices...>) {
  return (read_as<std::variant_alternative_t<kIndices, Layer>>(record, layer) || ...);
}

}  // namespace

Layer parse_layer(const LayerRecord& record) {
  Layer layer;
  if (!read_any(record, layer, std::make_index_sequence<std::variant_size_v<Layer>>())) {
    record.fail("type", in_quotes(record.type), "a known one such as Conv2d");
  }
  return layer;
}

}  // namespace nibble::inline foreign
