// SPDX-License-Identifier: Apache-2.0
// Texts of the tree inside the library, so that a program needs no files (nibble_embed_texts).
#pragma once

#include <span>
#include <string_view>

namespace nibble::inline core {

struct EmbeddedText {
  std::string_view name;  // of the file, without folder and extension
  std::string_view text;
};

}  // namespace nibble::inline core
