// SPDX-License-Identifier: Apache-2.0
// Files in memory, whole or in part.
#pragma once

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

}  // namespace nibble::inline data
