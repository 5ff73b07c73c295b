// SPDX-License-Identifier: Apache-2.0
// Reads IDX arrays without believing an extent before its bytes were seen.
#include "data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "data/file_bytes.h"
#include "data/gunzip.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::uint8_t kUnsignedBytes = 0x08;

struct TypeName {
  std::uint8_t code;
  std::string_view name;
};
constexpr std::array kOtherTypes = {TypeName{0x09, "i8"}, TypeName{0x0B, "i16"},
                                    TypeName{0x0C, "i32"}, TypeName{0x0D, "f32"},
                                    TypeName{0x0E, "f64"}};

class IdxReader {
 public:
  IdxReader(std::span<const std::byte> bytes, const std::string& name) : name_(name), rest_(bytes) {
    if (is_gzip(bytes)) gunzip_.emplace(bytes, name);
  }

  Tensor read() {
    const Shape shape = read_shape();
    const auto size = static_cast<std::size_t>(shape.elements());
    const std::vector<std::byte> data = read_data(size);
    std::byte extra{};
    if (take({&extra, 1}) != 0) {
      fail("oversized data", fmt::format("more than {} bytes", size), shape.to_string());
    }
    Tensor tensor(DType::u8, shape);
    if (size > 0) std::memcpy(tensor.data(), data.data(), size);
    return tensor;
  }

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view expected,
                         ErrorKind kind = ErrorKind::input) {
    throw Error("read_idx", fmt::format("{}: {}", name_, what), got, expected, kind);
  }

  std::size_t take(std::span<std::byte> out) {
    if (gunzip_) return gunzip_->read(out);
    const std::size_t size = std::min(out.size(), rest_.size());
    if (size > 0) std::memcpy(out.data(), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return size;
  }

  Shape read_shape() {
    std::array<std::byte, kMagicBytes> magic{};
    if (const std::size_t got = take(magic); got < magic.size()) {
      fail("magic number", fmt::format("{} bytes", got), "4 bytes");
    }
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(magic[i]); };
    if (byte(0) != 0 || byte(1) != 0) {
      fail("magic number", fmt::format("{:02x} {:02x}", byte(0), byte(1)), "00 00");
    }
    if (byte(2) != kUnsignedBytes) {
      const auto* other = std::find_if(kOtherTypes.begin(), kOtherTypes.end(),
                                       [&](const TypeName& type) { return type.code == byte(2); });
      fail("element type",
           fmt::format("0x{:02x} ({})", byte(2),
                       other == kOtherTypes.end() ? std::string_view("unknown") : other->name),
           "0x08 (u8)");
    }
    const std::size_t rank = byte(3);
    if (rank < 1 || rank > kMaxRank) {
      fail("rank", std::to_string(rank), fmt::format("1 to {}", kMaxRank));
    }
    std::array<std::byte, 4 * kMaxRank> words{};
    if (const std::size_t got = take(std::span(words).first(4 * rank)); got < 4 * rank) {
      fail("extents", fmt::format("{} bytes", got), fmt::format("{} bytes", 4 * rank));
    }
    std::array<std::int64_t, kMaxRank> extents{};
    for (std::size_t i = 0; i < 4 * rank; ++i) {
      extents[i / 4] = extents[i / 4] << 8 | std::to_integer<std::int64_t>(words[i]);
    }
    try {
      return Shape(std::span(extents).first(rank));
    } catch (const Error& error) {
      throw Error("read_idx", fmt::format("{}: extents: {}", name_, error.what()),
                  input_kind(error));
    }
  }

  std::vector<std::byte> read_data(std::size_t size) {
    if (!gunzip_ && rest_.size() < size) {
      fail("truncated data", fmt::format("{} bytes", rest_.size()), fmt::format("{} bytes", size));
    }
    if (gunzip_ && size > gunzip_->most()) {
      fail("unpacked data", fmt::format("{} bytes", size),
           at_most("inflation", static_cast<std::int64_t>(gunzip_->most())), ErrorKind::limit);
    }
    std::vector<std::byte> data;
    try {
      data = read_promised(size, [&](std::span<std::byte> to) { return take(to); });
    } catch (const std::bad_alloc&) {
      fail("data", fmt::format("{} bytes", size), "what fits into memory", ErrorKind::memory);
    }
    if (data.size() < size) {
      fail("truncated data", fmt::format("{} bytes", data.size()), fmt::format("{} bytes", size));
    }
    return data;
  }

  const std::string& name_;
  std::span<const std::byte> rest_;  // of plain data
  std::optional<Gunzip> gunzip_;
};

}  // namespace

Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  return IdxReader(bytes, name).read();
}

Tensor read_idx(const std::filesystem::path& path) {
  return parse_idx(read_file_bytes(path, "read_idx"), path.string());
}

IdxFiles idx_files_of(std::string_view dataset, Split split) {
  if (dataset == "digits") return {.images = "images.idx3", .labels = "labels.idx1"};
  const std::string prefix = split == Split::train ? "train" : "t10k";
  return {.images = prefix + "-images-idx3-ubyte", .labels = prefix + "-labels-idx1-ubyte"};
}

std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder,
                                              const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    std::error_code ignored;
    const std::filesystem::path path = folder / (name + ending);
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

}  // namespace nibble::inline data
