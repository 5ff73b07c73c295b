// SPDX-License-Identifier: Apache-2.0
// Replays the fuzz corpus of format texts: good_* parse and survive a round trip, bad_* throw
// Error.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

namespace nibble::inline numerics {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FormatCorpus, GoodTextsSurviveARoundTripAndBadOnesThrow) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(NIBBLE_CORPUS_DIR) / "format")) {
    const std::string name = entry.path().filename().string();
    const std::string text = bytes_of(entry.path());
    SCOPED_TRACE(name + ": " + text);
    ++files;
    if (name.starts_with("bad_")) {
      EXPECT_THROW(parse_format(text), Error);
      continue;
    }
    ASSERT_TRUE(name.starts_with("good_"));
    const Format format = parse_format(text);
    EXPECT_EQ(parse_format(to_string(format)), format);
    EXPECT_EQ(to_string(parse_format(to_string(format))), to_string(format));
  }
  EXPECT_GE(files, 20);
}

}  // namespace
}  // namespace nibble::inline numerics
