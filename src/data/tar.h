// SPDX-License-Identifier: Apache-2.0
// Tar archives (ustar, POSIX and GNU), as far as to find plain files in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nibble::inline data {

struct TarFile {
  std::string name;
  std::span<const std::byte> data;  // borrowed from the archive
};

// The plain files in order; folders and links are skipped. Headers have to have the right checksum,
// data has to be inside, and a block of zeros has to end the archive; long names and other letters
// are those of extended headers, POSIX's or GNU's. `name` is used in errors.
std::vector<TarFile> parse_tar(std::span<const std::byte> bytes, const std::string& name);

struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  // of its data in the archive
  std::uint64_t bytes = 0;
};

// The plain files of an archive on disk, of which nothing but the headers is read.
std::vector<TarMember> list_tar(const std::filesystem::path& path);

}  // namespace nibble::inline data
