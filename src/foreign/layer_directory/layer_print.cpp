// SPDX-License-Identifier: Apache-2.0
// The text of a layer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "foreign/layer_directory/layer_keys.h"

namespace nibble::inline foreign {
namespace {

std::string tuple_text(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}:{}", numbers.size(), fmt::join(numbers, " "));
}

class KeyWriter {
 public:
  explicit KeyWriter(std::string_view type) : text_(type) { text_ += kLineEnd; }

  void operator()(std::string_view key, const std::string& word) { add(key, word); }
  void operator()(std::string_view key, std::int64_t number) { add(key, std::to_string(number)); }
  void operator()(std::string_view key, bool is_true) { add(key, is_true ? "True" : "False"); }
  void operator()(std::string_view key, const Extent2& extent) {
    add(key, tuple_text({extent.y, extent.x}));
  }
  void operator()(std::string_view key, const StoredTensor& tensor) {
    add(key, fmt::format("{},{}", name_of(tensor.type), tuple_text(tensor.extents)));
    text_ += fmt::format("!{}{}", tensor.path, kLineEnd);
  }

  const std::string& text() const { return text_; }

 private:
  void add(std::string_view key, std::string_view value) {
    text_ += fmt::format("{}={}{}", key, value, kLineEnd);
  }

  std::string text_;
};

}  // namespace

std::string_view name_of(StoredType type) {
  switch (type) {
    case StoredType::s4:
      return "s4";
    case StoredType::s8:
      return "s8";
    case StoredType::s16:
      return "s16";
    case StoredType::u16:
      return "u16";
    case StoredType::s32:
      return "s32";
    case StoredType::f32:
      return "f32";
  }
  return "";
}

std::string to_text(const Layer& layer) {
  return std::visit(
      [](const auto& each) {
        KeyWriter writer(std::remove_cvref_t<decltype(each)>::kType);
        visit_keys(each, writer);
        return writer.text();
      },
      layer);
}

}  // namespace nibble::inline foreign
