// SPDX-License-Identifier: Apache-2.0
// Reads and writes NumPy strings as pictures; the order of the axes changes on the way.
#include "data/harness_tensor.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <ostream>
#include <string_view>

#include "core/atomic_file.h"
#include "core/npy_header.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr std::string_view kBefore = "{'descr': '|S";
constexpr std::string_view kAfter = "', 'fortran_order': False, 'shape': (), }";
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kTextOffset = 10;  // of version 1.0

struct Layout {
  std::size_t offset = 0;  // of the string
  std::size_t bytes = 0;   // that the header promises
};

// NumPy has written this header letter for letter since its first version.
std::optional<Layout> layout_of(std::span<const std::byte> file) {
  NpyPreamble preamble;
  try {
    preamble = parse_npy_preamble(file, "");
  } catch (const Error&) {
    return std::nullopt;
  }
  if (preamble.text_offset != kTextOffset || preamble.header_end > file.size()) return std::nullopt;
  std::string_view text(reinterpret_cast<const char*>(file.data()) + kTextOffset,
                        preamble.header_end - kTextOffset);
  if (!text.starts_with(kBefore)) return std::nullopt;
  text.remove_prefix(kBefore.size());
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(kAfter)) return std::nullopt;
  text.remove_prefix(kAfter.size());
  if (text.find_first_not_of(" \n") != std::string_view::npos) return std::nullopt;
  return Layout{preamble.header_end, bytes};
}

std::string header_of(std::size_t bytes) {
  std::string text = fmt::format("{}{}{}", kBefore, bytes, kAfter);
  const std::size_t used = kTextOffset + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ') += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += {static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

// Calls body(place as it lies by channels, place as it lies by pixels).
template <class Body>
void for_each_place(const Shape& picture, const Body& body) {
  const auto pixels = static_cast<std::size_t>(picture[0] * picture[1]);
  const auto channels = static_cast<std::size_t>(picture[2]);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < pixels; ++p) body(c * pixels + p, p * channels + c);
  }
}

}  // namespace

bool is_harness_tensor(std::span<const std::byte> file) {
  return layout_of(file).has_value();
}

Tensor parse_harness_tensor(std::span<const std::byte> file, const Shape& picture,
                            const std::string& name) {
  const std::optional<Layout> layout = layout_of(file);
  if (!layout) {
    throw Error("parse_harness_tensor", name,
                fmt::format("{} bytes with another header", file.size()),
                "a .npy of no axis and the type |Sn", ErrorKind::input);
  }
  if (picture.rank() != 3)
    throw Error("parse_harness_tensor", name + ": for an input", picture.to_string(), "(h, w, c)",
                ErrorKind::input);
  Tensor tensor(DType::i8, picture);
  const std::size_t there = file.size() - layout->offset;
  if (layout->bytes != tensor.bytes() || there != tensor.bytes()) {
    throw Error("parse_harness_tensor", name + ": bytes",
                fmt::format("{}, |S{}", there, layout->bytes),
                fmt::format("{} of {}", tensor.bytes(), picture.to_string()), ErrorKind::input);
  }
  const std::span<const std::byte> bytes = file.subspan(layout->offset);
  for_each_place(picture,
                 [&](std::size_t from, std::size_t to) { tensor.data()[to] = bytes[from]; });
  return tensor;
}

void write_harness_tensor(const std::filesystem::path& path, ConstTensorView picture) {
  const bool is_byte = picture.dtype() == DType::i8 || picture.dtype() == DType::u8;
  if (picture.shape().rank() != 3 || !is_byte) {
    throw Error("write_harness_tensor", "tensor",
                fmt::format("{} {}", name_of(picture.dtype()), picture.shape().to_string()),
                "i8 or u8 (h, w, c)");
  }
  std::string bytes(picture.bytes(), '\0');
  for_each_place(picture.shape(), [&](std::size_t to, std::size_t from) {
    bytes[to] = static_cast<char>(picture.data()[from]);
  });
  AtomicFile file(path);
  file.stream() << header_of(bytes.size()) << bytes;
  file.commit();
}

}  // namespace nibble::inline data
