// SPDX-License-Identifier: Apache-2.0
// Tar archives (ustar), as far as to find plain files in them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nibble::inline data {

struct TarFile {
  std::string name;
  std::span<const std::byte> data;  // borrowed from the archive
};

// The plain files in order; folders, links and extended headers are skipped. Headers have to have
// the right checksum, data has to be inside, and a block of zeros has to end the archive; `name` is
// used in errors.
std::vector<TarFile> parse_tar(std::span<const std::byte> bytes, const std::string& name);

}  // namespace nibble::inline data
