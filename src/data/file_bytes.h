// SPDX-License-Identifier: Apache-2.0
// Files in memory, whole or in part, and bytes whose number a header promised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline data {

// Throws "[op] cannot read PATH: why".
std::vector<std::byte> read_file_bytes(const std::filesystem::path& path, std::string_view op);

std::uint64_t file_size_of(const std::filesystem::path& path, std::string_view op);

class FileReader {
 public:
  FileReader(std::filesystem::path path, std::string_view op);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // As many bytes as `to` has, from `offset` on.
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  std::filesystem::path path_;
  std::string op_;
  int descriptor_;
};

// The first bytes of a file, at most `most`.
std::vector<std::byte> read_file_head(const std::filesystem::path& path, std::size_t most,
                                      std::string_view op);

// take(span) fills as much as there is and gives the count. Memory grows with what arrives: at most
// twice the bytes seen, plus one piece. The result is shorter where the source ends early.
template <class Take>
std::vector<std::byte> read_promised(std::size_t size, const Take& take) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> data;
  while (data.size() < size) {
    const std::size_t seen = data.size();
    const std::size_t wanted = std::min(size - seen, std::max(seen, kPiece));
    data.resize(seen + wanted);
    const std::size_t got = take(std::span(data).subspan(seen));
    data.resize(seen + got);
    if (got < wanted) break;
  }
  return data;
}

}  // namespace nibble::inline data
