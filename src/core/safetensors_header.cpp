// SPDX-License-Identifier: Apache-2.0
// Reads the header of safetensors files event by event, so that memory grows with what is valid.
#include "core/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

struct TypeName {
  std::string_view text;
  DType dtype;
};
constexpr std::array kTypeNames = {
    TypeName{"F32", DType::f32}, TypeName{"F64", DType::f64},   TypeName{"F16", DType::f16},
    TypeName{"I8", DType::i8},   TypeName{"BF16", DType::bf16}, TypeName{"U8", DType::u8},
    TypeName{"I16", DType::i16}, TypeName{"U16", DType::u16},   TypeName{"I32", DType::i32},
    TypeName{"U32", DType::u32}, TypeName{"I64", DType::i64},   TypeName{"U64", DType::u64},
};

[[noreturn]] void fail_header(const std::string& name, std::string_view what, std::string_view got,
                              std::string_view expected) {
  throw Error("read_safetensors", fmt::format("{}: {}", name, what), got, expected,
              ErrorKind::input);
}

// One event of the JSON text after the other; what does not belong is refused where it stands.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& name) : name_(name) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::start:
        place_ = Place::names;
        return true;
      case Place::metadata_start:
        place_ = Place::metadata;
        return true;
      case Place::entry_start:
        place_ = Place::entry;
        return true;
      default:
        return refuse("an object");
    }
  }

  bool key(string_t& text) override {
    if (place_ == Place::names) {
      if (!names_.insert(text).second)
        fail_header(name_, "header", in_quotes(text) + " twice", "one");
      place_ = text == kMetadata ? Place::metadata_start : Place::entry_start;
      if (text != kMetadata) header_.entries.push_back({.name = text, .shape = {}});
      has_dtype_ = has_shape_ = has_offsets_ = false;
      return true;
    }
    if (place_ == Place::metadata) {
      if (header_.metadata.contains(text))
        fail_header(name_, where(), in_quotes(text) + " twice", "one");
      key_ = text;
      place_ = Place::metadata_value;
      return true;
    }
    if (text == "dtype" && !has_dtype_) {
      has_dtype_ = true;
      place_ = Place::dtype;
    } else if (text == "shape" && !has_shape_) {
      has_shape_ = true;
      place_ = Place::shape_start;
    } else if (text == "data_offsets" && !has_offsets_) {
      has_offsets_ = true;
      place_ = Place::offsets_start;
    } else {
      fail_header(name_, where(), "key " + in_quotes(text),
                  "each of dtype, shape, data_offsets once");
    }
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata_value) {
      header_.metadata.emplace(std::move(key_), std::move(text));
      place_ = Place::metadata;
      return true;
    }
    if (place_ != Place::dtype) return refuse(in_quotes(text));
    const auto known = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                    [&](const TypeName& type) { return type.text == text; });
    if (known == kTypeNames.end()) {
      fail_header(name_, where() + ": dtype", in_quotes(text),
                  "F64, F32, F16, BF16, I8, I16, I32, I64, U8, U16, U32 or U64");
    }
    entry().dtype = known->dtype;
    place_ = Place::entry;
    return true;
  }

  bool start_array(std::size_t) override {
    numbers_.clear();
    if (place_ == Place::shape_start) {
      place_ = Place::shape;
    } else if (place_ == Place::offsets_start) {
      place_ = Place::offsets;
    } else {
      refuse("a list");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    const std::size_t limit =
        place_ == Place::shape ? kMaxRank : (place_ == Place::offsets ? 2U : 0U);
    if (limit == 0) return refuse(std::to_string(number));
    if (numbers_.size() == limit) {
      fail_header(name_, where(), "a longer list", fmt::format("at most {} numbers", limit));
    }
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail_header(name_, where(), std::to_string(number), "less than 2^63");
    }
    numbers_.push_back(static_cast<std::int64_t>(number));
    return true;
  }

  bool end_array() override {
    if (place_ == Place::shape) {
      try {
        entry().shape = Shape(numbers_);
      } catch (const Error& error) {
        throw Error("read_safetensors", fmt::format("{}: {}: {}", name_, where(), error.what()),
                    input_kind(error));
      }
    } else {
      if (numbers_.size() != 2) {
        fail_header(name_, where() + ": data_offsets", fmt::format("{} numbers", numbers_.size()),
                    "2");
      }
      entry().begin = static_cast<std::uint64_t>(numbers_[0]);
      entry().end = static_cast<std::uint64_t>(numbers_[1]);
    }
    place_ = Place::entry;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::names) {
      place_ = Place::end;
      return true;
    }
    if (place_ == Place::entry) {
      const char* missing =
          !has_dtype_ ? "dtype" : (!has_shape_ ? "shape" : (!has_offsets_ ? "data_offsets" : ""));
      if (*missing != '\0') fail_header(name_, where(), fmt::format("no {}", missing), "one");
    }
    place_ = Place::names;
    return true;
  }

  bool number_integer(number_integer_t number) override { return refuse(std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override {
    return refuse(in_quotes(text));
  }
  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool binary(binary_t&) override { return refuse("binary"); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    fail_header(name_, fmt::format("header at byte {}", kSafetensorsLength + position),
                in_quotes(token), "valid JSON");
  }

 private:
  enum class Place : std::uint8_t {
    start,
    names,
    metadata_start,
    metadata,
    metadata_value,
    entry_start,
    entry,
    dtype,
    shape_start,
    shape,
    offsets_start,
    offsets,
    end,
  };

  SafetensorsEntry& entry() { return header_.entries.back(); }

  std::string where() const {
    switch (place_) {
      case Place::start:
      case Place::names:
      case Place::end:
        return "header";
      case Place::metadata_start:
      case Place::metadata:
        return "metadata";
      case Place::metadata_value:
        return "metadata " + in_quotes(key_);
      default:
        return "tensor " + in_quotes(header_.entries.back().name);
    }
  }

  std::string_view wanted() const {
    switch (place_) {
      case Place::metadata_value:
      case Place::dtype:
        return "a string";
      case Place::shape_start:
      case Place::offsets_start:
        return "a list";
      case Place::shape:
      case Place::offsets:
        return "integers of 0 or more";
      default:
        return "an object";
    }
  }

  [[noreturn]] bool refuse(std::string_view got) { fail_header(name_, where(), got, wanted()); }

  const std::string& name_;
  Place place_ = Place::start;
  SafetensorsHeader header_;
  std::set<std::string> names_;
  std::string key_;
  std::vector<std::int64_t> numbers_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
};

// Every byte of the data belongs to one tensor, and every tensor has the bytes of its shape.
void check_offsets(const SafetensorsHeader& header, std::uint64_t data_size,
                   const std::string& name) {
  std::vector<std::size_t> order(header.entries.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const SafetensorsEntry& x = header.entries[a];
    const SafetensorsEntry& y = header.entries[b];
    return std::pair(x.begin, x.end) < std::pair(y.begin, y.end);
  });
  std::uint64_t at = 0;
  for (const std::size_t index : order) {
    const SafetensorsEntry& entry = header.entries[index];
    const std::string where = "tensor " + in_quotes(entry.name);
    const std::uint64_t size = static_cast<std::uint64_t>(entry.shape.elements()) *
                               size_of(entry.dtype);  // Shape keeps it below 2^63
    if (entry.end < entry.begin || entry.end - entry.begin != size) {
      fail_header(
          name, where + ": data_offsets", fmt::format("[{}, {}]", entry.begin, entry.end),
          fmt::format("the {} bytes of {}{}", size, name_of(entry.dtype), entry.shape.to_string()));
    }
    if (entry.begin != at) {
      fail_header(
          name, where + ": data_offsets begin",
          fmt::format("{} ({})", entry.begin, entry.begin < at ? "overlaps" : "a hole before it"),
          std::to_string(at));
    }
    if (entry.begin % size_of(entry.dtype) != 0) {
      fail_header(name, where + ": data_offsets begin", std::to_string(entry.begin),
                  fmt::format("a multiple of {}", size_of(entry.dtype)));
    }
    at = entry.end;
  }
  if (at != data_size) {
    fail_header(name, "data", fmt::format("{} bytes", data_size), fmt::format("{} bytes", at));
  }
}

}  // namespace

std::size_t safetensors_header_length(std::span<const std::byte> first, std::uint64_t size,
                                      const std::string& name) {
  if (first.size() < kSafetensorsLength) {
    fail_header(name, "file", fmt::format("{} bytes", size),
                fmt::format("at least {} bytes", kSafetensorsLength));
  }
  std::uint64_t length = 0;
  for (std::size_t i = kSafetensorsLength; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(first[i]);
  }
  const std::uint64_t most = std::min(kSafetensorsMaxHeader, size - kSafetensorsLength);
  if (length < 2 || length > most) {
    fail_header(name, "header length", std::to_string(length), fmt::format("2 to {}", most));
  }
  return static_cast<std::size_t>(length);
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_size,
                                           const std::string& name) {
  if (!text.starts_with('{')) fail_header(name, "header", in_quotes(text.substr(0, 1)), "'{'");
  // The parser would take it for the end of the text.
  if (text.find('\0') != std::string_view::npos)
    fail_header(name, "header", "a zero byte", "valid JSON");
  HeaderReader reader(name);
  Json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  check_offsets(header, data_size, name);
  return header;
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json[std::string(kMetadata)] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.name == kMetadata || json.contains(entry.name)) {
      throw Error("write_safetensors", "name of a tensor", in_quotes(entry.name),
                  "one that is not taken");
    }
    const auto type = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                   [&](const TypeName& each) { return each.dtype == entry.dtype; });
    json[entry.name] = {{"dtype", type->text},
                        {"shape", std::vector<std::int64_t>(entry.shape.extents().begin(),
                                                            entry.shape.extents().end())},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception&) {
    throw Error("write_safetensors", "names and metadata", "bytes that are no UTF-8", "UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kSafetensorsMaxHeader) {
    throw Error("write_safetensors", "header", fmt::format("{} bytes", text.size()),
                fmt::format("at most {}", kSafetensorsMaxHeader), ErrorKind::limit);
  }
  std::string length(kSafetensorsLength, '\0');
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>(text.size() >> 8 * i & 0xFF);
  }
  return length + text;
}

}  // namespace nibble::inline core
