// SPDX-License-Identifier: Apache-2.0
#include "core/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TextFile, IsReadWhole) {
  const TemporaryFolder folder;
  const std::string text =
      "a\r\n\0b"
      "ü";
  EXPECT_EQ(read_text_file(folder.put("x", text), "test"), text);
}

TEST(TextFile, WhatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  const auto reason = [&](const std::string& name) {
    return error_of([&] { read_text_file(folder.path() / name, "policy"); });
  };
  EXPECT_THAT(reason("missing"),
              AllOf(HasSubstr("[policy]"), HasSubstr("missing"), HasSubstr("No such file")));
  EXPECT_THAT(reason("."), HasSubstr("not a regular file"));
}

TEST(TextFile, IsNoLongerThanItMayBe) {
  const TemporaryFolder folder;
  const std::int64_t most = std::int64_t{1} << 20;
  const std::filesystem::path path = folder.put("x", std::string(most, 'a'));
  EXPECT_EQ(read_text_file(path, "policy", most).size(), most);
  folder.put("x", std::string(most + 1, 'a'));
  EXPECT_EQ(error_of([&] { read_text_file(path, "policy", most); }),
            "[policy] cannot read " + path.string() + ": longer than 1 MiB");
}

TEST(TextFile, IsReplacedWholeAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  const std::string text("a\n\0b", 4);
  folder.put("x", "an older and longer text");
  write_text_file(folder.path() / "x", text);
  EXPECT_EQ(folder.content_of("x"), text);
  EXPECT_EQ(folder.files(), 1);
}

}  // namespace
}  // namespace nibble::inline core
