// SPDX-License-Identifier: Apache-2.0
// Parses the header of .npy files strictly and writes version 1.0 of it.
#include "core/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;        // magic, major, minor
constexpr std::size_t kMaxHeader = 1u << 20;  // of the dictionary text
constexpr std::size_t kWrittenAlignment = 64;

struct Descr {
  std::string_view text;
  DType dtype;
};
// The first text of a type is the one written.
constexpr std::array kDescrs = {
    Descr{"<f4", DType::f32},  Descr{"<f8", DType::f64},  Descr{"<f2", DType::f16},
    Descr{"<V2", DType::bf16}, Descr{"|V2", DType::bf16}, Descr{"bfloat16", DType::bf16},
    Descr{"|i1", DType::i8},   Descr{"<i1", DType::i8},   Descr{"|u1", DType::u8},
    Descr{"<u1", DType::u8},   Descr{"<i2", DType::i16},  Descr{"<u2", DType::u16},
    Descr{"<i4", DType::i32},  Descr{"<u4", DType::u32},  Descr{"<i8", DType::i64},
    Descr{"<u8", DType::u64},
};

[[noreturn]] void fail(const std::string& name, std::string_view what, std::string_view got,
                       std::string_view expected) {
  throw Error("read_npy", fmt::format("{}: {}", name, what), got, expected, ErrorKind::input);
}

// Hostile text for an error message: short and printable.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 32;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out + (text.size() > kShown ? "...'" : "'");
}

// The dictionary of the header: three known keys in any order, nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t offset, const std::string& name)
      : text_(text), offset_(offset), name_(name) {}

  NpyHeader parse() {
    std::optional<DType> dtype;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    expect('{');
    while (!accept('}')) {
      const std::size_t start = skip_space();
      const std::string_view key = parse_string("a quoted key");
      expect(':');
      if (key == "descr" && !dtype) {
        dtype = parse_dtype();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = parse_bool();
      } else if (key == "shape" && !shape) {
        shape = parse_shape();
      } else {
        fail_at(start, quoted(key), "each of descr, fortran_order, shape once");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (skip_space() != text_.size()) fail_here("the end of the header");
    if (!dtype) fail(name_, "header", "no key descr", "one");
    if (!fortran_order) fail(name_, "header", "no key fortran_order", "one");
    if (!shape) fail(name_, "header", "no key shape", "one");
    return {.dtype = *dtype,
            .shape = *shape,
            .fortran_order = *fortran_order,
            .data_offset = offset_ + text_.size()};
  }

 private:
  [[noreturn]] void fail_at(std::size_t at, std::string_view got, std::string_view expected) const {
    fail(name_, fmt::format("header at byte {}", offset_ + at), got, expected);
  }
  [[noreturn]] void fail_here(std::string_view expected) const {
    if (at_ == text_.size()) fail_at(at_, "the end of the header", expected);
    fail_at(at_, quoted(text_.substr(at_, 1)), expected);
  }

  std::size_t skip_space() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_;
  }
  bool accept(char c) {
    if (skip_space() == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_here(quoted({&c, 1}));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view parse_string(std::string_view expected) {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'' && !accept('\'')) fail_here(expected);
    const std::size_t start = at_;
    at_ = std::min(text_.find_first_of("'\"\\\n", at_), text_.size());
    if (at_ == text_.size() || text_[at_] != quote) fail_here("the closing quote");
    return text_.substr(start, at_++ - start);
  }

  DType parse_dtype() {
    const std::size_t start = skip_space();
    const std::string_view text = parse_string("a quoted type, structured ones are not supported");
    for (const Descr& descr : kDescrs) {
      if (descr.text == text) return descr.dtype;
    }
    if (text.starts_with('>')) {
      fail_at(start, "big-endian descr " + quoted(text), "little-endian data");
    }
    fail_at(start, "descr " + quoted(text), "f2, f4, f8, bfloat16 (V2), i1 to i8 or u1 to u8");
  }

  bool parse_bool() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail_here("True or False");
  }

  Shape parse_shape() {
    std::vector<std::int64_t> extents;
    bool has_comma = true;  // "(3)" is a number in Python, "(3,)" a tuple
    expect('(');
    const std::size_t start = at_;
    while (!accept(')')) {
      if (!has_comma) fail_here("',' or ')'");
      if (extents.size() == kMaxRank) fail_here(fmt::format("at most {} extents", kMaxRank));
      extents.push_back(parse_extent());
      has_comma = accept(',');
    }
    if (extents.size() == 1 && !has_comma) fail_at(start, "a number in parentheses", "a tuple");
    try {
      return Shape(extents);
    } catch (const Error& error) {
      throw Error("read_npy", fmt::format("{}: {}", name_, error.what()), input_kind(error));
    }
  }

  std::int64_t parse_extent() {
    if (skip_space() == text_.size() || text_[at_] < '0' || text_[at_] > '9') {
      fail_here("an extent of 0 or more");
    }
    std::int64_t extent = 0;
    const char* first = text_.data() + at_;
    const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), extent);
    const auto length = static_cast<std::size_t>(last - first);
    if (error != std::errc()) {
      fail_at(at_, "extent " + quoted(text_.substr(at_, length)), "one below 2^63");
    }
    at_ += length;
    return extent;
  }

  std::string_view text_;
  std::size_t offset_;  // of the text in the file
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

NpyPreamble parse_npy_preamble(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < kVersionEnd) return {.text_offset = 0, .header_end = kVersionEnd};
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    const std::string_view start(reinterpret_cast<const char*>(bytes.data()), kMagic.size());
    fail(name, "magic", quoted(start), quoted(kMagic));
  }
  const auto major = std::to_integer<unsigned>(bytes[kMagic.size()]);
  const auto minor = std::to_integer<unsigned>(bytes[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(name, "version", fmt::format("{}.{}", major, minor), "1.0, 2.0 or 3.0");
  }
  const std::size_t text_offset = kVersionEnd + (major == 1 ? 2 : 4);
  if (bytes.size() < text_offset) return {.text_offset = text_offset, .header_end = text_offset};
  std::size_t length = 0;
  for (std::size_t i = text_offset; i-- > kVersionEnd;) {
    length = length << 8 | std::to_integer<std::size_t>(bytes[i]);
  }
  if (length > kMaxHeader) {
    fail(name, "header length", std::to_string(length), fmt::format("at most {}", kMaxHeader));
  }
  return {.text_offset = text_offset, .header_end = text_offset + length};
}

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
  const NpyPreamble preamble = parse_npy_preamble(bytes, name);
  if (bytes.size() < preamble.header_end) {
    fail(name, "header", fmt::format("{} bytes", bytes.size()),
         fmt::format("at least {} bytes", preamble.header_end));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + preamble.text_offset,
                              preamble.header_end - preamble.text_offset);
  return HeaderParser(text, preamble.text_offset, name).parse();
}

std::string npy_header_text(DType dtype, const Shape& shape) {
  const auto descr = std::find_if(kDescrs.begin(), kDescrs.end(),
                                  [&](const Descr& d) { return d.dtype == dtype; });
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                 descr->text, shape.to_string());
  const std::size_t used = kVersionEnd + 2 + text.size() + 1;
  text.append((kWrittenAlignment - used % kWrittenAlignment) % kWrittenAlignment, ' ') += '\n';
  const std::size_t length = text.size();  // rank is at most 8: always fits 16 bits
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return header + text;
}

}  // namespace nibble::inline core
