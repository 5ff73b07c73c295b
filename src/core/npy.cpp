// SPDX-License-Identifier: Apache-2.0
// Reads .npy data without believing a length before its bytes were seen, and writes it.
#include "nibble/core/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/atomic_file.h"
#include "core/npy_header.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, ".npy data is copied as it is");

constexpr std::size_t kPiece = 1u << 20;  // allocated before the first byte of data is seen

std::size_t read_some(std::istream& in, std::byte* data, std::size_t size) {
  in.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(size));
  return static_cast<std::size_t>(in.gcount());
}

NpyHeader read_header(std::istream& in, const std::string& name) {
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t size = bytes.size();
    const std::size_t needed = parse_npy_preamble(bytes, name).header_end;
    if (size >= needed) return parse_npy_header(bytes, name);
    bytes.resize(needed);
    const std::size_t got = size + read_some(in, bytes.data() + size, needed - size);
    bytes.resize(got);
    if (got < needed) return parse_npy_header(bytes, name);  // throws: cut short
  }
}

[[noreturn]] void fail_size(const std::string& name, std::string_view what, std::uintmax_t got,
                            std::uintmax_t expected) {
  throw Error("read_npy", fmt::format("{}: {}", name, what), fmt::format("{} bytes", got),
              fmt::format("{} bytes", expected), ErrorKind::input);
}

// The data as it lies in the file. Unless the size is known to be true, memory grows with what
// arrives: at most twice the bytes seen, plus one piece.
Tensor read_data(std::istream& in, const NpyHeader& header, const std::string& name,
                 bool is_size_known) {
  const std::size_t total =
      static_cast<std::size_t>(header.shape.elements()) * size_of(header.dtype);
  std::vector<std::byte> seen;
  if (!is_size_known) {
    try {
      while (seen.size() < total && total > kPiece) {
        const std::size_t size = seen.size();
        const std::size_t wanted = std::min(total - size, std::max(size, kPiece));
        seen.resize(size + wanted);
        const std::size_t got = read_some(in, seen.data() + size, wanted);
        if (got < wanted) fail_size(name, "data", size + got, total);
      }
    } catch (const std::bad_alloc&) {
      throw Error("read_npy", name + ": data", fmt::format("{} bytes", total),
                  "what fits into memory", ErrorKind::memory);
    }
  }
  Tensor tensor(header.dtype, header.shape);
  if (!seen.empty()) {
    std::memcpy(tensor.data(), seen.data(), total);
  } else if (const std::size_t got = read_some(in, tensor.data(), total); got < total) {
    fail_size(name, "data", got, total);
  }
  return tensor;
}

// Row-major copy of a tensor whose bytes lie in column-major order.
template <class Word>
void transpose(const Tensor& source, Tensor& target) {
  const auto extents = source.shape().extents();
  std::array<std::size_t, kMaxRank> strides{};
  std::array<std::int64_t, kMaxRank> index{};
  std::size_t stride = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(extents[axis]);
  }
  const Word* from = reinterpret_cast<const Word*>(source.data());
  Word* to = reinterpret_cast<Word*>(target.data());
  std::size_t at = 0;
  for (std::int64_t i = 0; i < source.elements(); ++i) {
    to[i] = from[at];
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < extents[axis]) break;
      at -= strides[axis] * static_cast<std::size_t>(extents[axis]);
      index[axis] = 0;
    }
  }
}

Tensor row_major(const Tensor& tensor) {
  Tensor target(tensor.dtype(), tensor.shape());
  switch (size_of(tensor.dtype())) {
    case 1:
      transpose<std::uint8_t>(tensor, target);
      break;
    case 2:
      transpose<std::uint16_t>(tensor, target);
      break;
    case 4:
      transpose<std::uint32_t>(tensor, target);
      break;
    default:
      transpose<std::uint64_t>(tensor, target);
      break;
  }
  return target;
}

Tensor read_body(std::istream& in, const NpyHeader& header, const std::string& name,
                 bool is_size_known) {
  Tensor tensor = read_data(in, header, name, is_size_known);
  const bool is_reordered = header.fortran_order && header.shape.rank() > 1;
  return is_reordered ? row_major(tensor) : std::move(tensor);
}

void check_file_size(const fs::path& path, const NpyHeader& header, const std::string& name) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error)
    throw Error("read_npy", fmt::format("{}: {}", name, error.message()), ErrorKind::system);
  const std::uintmax_t expected =
      header.data_offset +
      std::uintmax_t{size_of(header.dtype)} * static_cast<std::uintmax_t>(header.shape.elements());
  if (size < expected) fail_size(name, "truncated file", size, expected);
  if (size > expected) fail_size(name, "oversized file", size, expected);
}

void write_all(std::ostream& out, ConstTensorView tensor) {
  if (tensor.device().kind != Device::Kind::cpu) {
    throw Error("write_npy", "device", "cuda", "cpu");
  }
  out << npy_header_text(tensor.dtype(), tensor.shape());
  out.write(reinterpret_cast<const char*>(tensor.data()),
            static_cast<std::streamsize>(tensor.bytes()));
}

}  // namespace

Tensor read_npy(const fs::path& path) {
  if (path == "-") return read_npy(std::cin, "standard input");
  const std::string name = path.string();
  std::error_code ignored;
  const bool is_directory = fs::is_directory(path, ignored);
  std::ifstream in;
  if (!is_directory) in.open(path, std::ios::binary);
  if (!in.is_open()) {
    const int code = is_directory ? EISDIR : errno;
    throw Error("read_npy",
                fmt::format("cannot open {}: {}", name, std::generic_category().message(code)),
                ErrorKind::system);
  }
  const NpyHeader header = read_header(in, name);
  const bool is_regular = fs::is_regular_file(path, ignored);
  if (is_regular) check_file_size(path, header, name);
  return read_body(in, header, name, is_regular);
}

Tensor read_npy(std::istream& in, const std::string& name) {
  return read_body(in, read_header(in, name), name, false);
}

void write_npy(const fs::path& path, ConstTensorView tensor) {
  if (path == "-") return write_npy(std::cout, tensor, "standard output");
  AtomicFile file(path);
  write_all(file.stream(), tensor);
  file.commit();
}

void write_npy(std::ostream& out, ConstTensorView tensor, const std::string& name) {
  errno = 0;
  write_all(out, tensor);
  if (!out.flush()) {
    throw Error("write_npy",
                fmt::format("cannot write {}: {}", name,
                            std::generic_category().message(errno != 0 ? errno : EIO)),
                ErrorKind::system);
  }
}

}  // namespace nibble::inline core
