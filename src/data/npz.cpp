// SPDX-License-Identifier: Apache-2.0
// Finds the arrays of a zip archive and hands them to the reader of .npy.
#include "data/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <span>
#include <streambuf>
#include <utility>

#include "data/file_bytes.h"
#include "data/zip.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"

namespace nibble::inline data {
namespace {

constexpr std::string_view kEnding = ".npy";

// A stream over bytes that somebody else holds.
class BytesBuffer : public std::streambuf {
 public:
  explicit BytesBuffer(std::vector<std::byte>& bytes) {
    char* begin = reinterpret_cast<char*>(bytes.data());
    setg(begin, begin, begin + bytes.size());
  }
};

}  // namespace

struct Npz::State {
  State(std::vector<std::byte> held, const std::string& file)
      : bytes(std::move(held)), name(file), zip(bytes, file) {
    for (const ZipEntry& entry : zip.entries()) {
      if (!entry.name.ends_with(kEnding)) continue;
      names.push_back(entry.name.substr(0, entry.name.size() - kEnding.size()));
    }
  }

  std::vector<std::byte> bytes;
  std::string name;
  ZipReader zip;
  std::vector<std::string> names;
};

Npz::Npz(const std::filesystem::path& path)
    : Npz(read_file_bytes(path, "read_npz"), path.string()) {}

Npz::Npz(std::vector<std::byte> bytes, const std::string& name)
    : state_(std::make_unique<State>(std::move(bytes), name)) {}

Npz::~Npz() = default;

const std::vector<std::string>& Npz::names() const {
  return state_->names;
}

bool Npz::has(std::string_view name) const {
  return std::ranges::find(state_->names, name) != state_->names.end();
}

Tensor Npz::read(std::string_view name) const {
  const std::string file = std::string(name) + std::string(kEnding);
  for (const ZipEntry& entry : state_->zip.entries()) {
    if (entry.name != file) continue;
    std::vector<std::byte> data = state_->zip.read(entry);
    const std::string where = fmt::format("{}: {}", state_->name, name);
    const NpyHeader header = parse_npy_header(data, where);
    BytesBuffer buffer(data);
    std::istream in(&buffer);
    Tensor tensor = read_npy(in, where);
    const std::size_t expected = header.data_offset + tensor.bytes();
    if (data.size() != expected) {
      throw Error("read_npz", where + ": size", fmt::format("{} bytes", data.size()),
                  fmt::format("{} bytes", expected), ErrorKind::input);
    }
    return tensor;
  }
  throw Error("read_npz", state_->name + ": array", fmt::format("'{}'", name),
              fmt::format("{}", fmt::join(state_->names, ", ")), ErrorKind::input);
}

}  // namespace nibble::inline data
