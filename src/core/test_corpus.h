// SPDX-License-Identifier: Apache-2.0
// The files of tests/corpus, whose names say whether they can be read: valid_….
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace nibble::inline core {

// Calls body(path, is_valid) for every file of a corpus, which must have `least` files or more.
template <class Body>
void for_each_corpus_file(const std::string& corpus, int least, const Body& body) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(NIBBLE_CORPUS_DIR) / corpus)) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    ++files;
    body(entry.path(), name.starts_with("valid_"));
  }
  EXPECT_GE(files, least);
}

}  // namespace nibble::inline core
