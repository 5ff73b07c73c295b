// SPDX-License-Identifier: Apache-2.0
// Texts: small files that people read and write, and those of the tree inside the library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace nibble::inline core {

// The whole file. What is missing, no regular file or longer than `most` bytes is an error of `op`
// that names the path.
std::string read_text_file(const std::filesystem::path& path, std::string_view op,
                           std::int64_t most = std::int64_t{16} << 20);

// The file appears whole or not at all; an error names the path.
void write_text_file(const std::filesystem::path& path, std::string_view text);

// So that a program needs no files (nibble_embed_texts).
struct EmbeddedText {
  std::string_view name;  // of the file, without folder and extension
  std::string_view text;
};

}  // namespace nibble::inline core
