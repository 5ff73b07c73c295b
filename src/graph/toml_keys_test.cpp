// SPDX-License-Identifier: Apache-2.0
#include "graph/toml_keys.h"

#include <gtest/gtest.h>

#include <string>

#include "core/test_support.h"
#include "graph/toml_value.h"

namespace nibble::inline graph {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

constexpr const char* kNoError = "no error";

std::string error(const std::string& text) {
  return error_of([&] { parse_toml(text, "x.toml", "test"); });
}

TEST(TomlKeys, AreNotNestedWithoutEnd) {
  const std::string deep = repeated("a.", 200000) + "a";
  const std::string words = ": key: got over 8 names, expected at most 8";
  EXPECT_EQ(error(deep + " = 1"), "[test] x.toml:1" + words);
  EXPECT_EQ(error("x = 1\n[" + deep + "]"), "[test] x.toml:2" + words);
  EXPECT_EQ(error("x = \"\"\"\n\"\"\"\n[[" + deep + "]]"), "[test] x.toml:3" + words);
  EXPECT_EQ(error("x = {" + deep + " = 1}"), "[test] x.toml:1" + words);
  EXPECT_EQ(error(repeated("\"a\" . 'b' . ", 100000) + "a = 1"), "[test] x.toml:1" + words);
  EXPECT_EQ(error(repeated("a.", 8) + "a = 1"), "[test] x.toml:1" + words);
  EXPECT_EQ(error(repeated("a.", 7) + "a = 1"), kNoError);
}

TEST(TomlKeys, AreFoundBehindStringsOfEveryKind) {
  const std::string deep = ", " + repeated("a.", 8) + "a = 1}";
  for (const std::string text : {"''", "\"\\\"\"", "'\\'", "\"\"\"\n\"\"\"\"", "'''\n'''''",
                                 "\"\"\"\\\"\"\"\"", "\"\"\"\"\"\"", "\"'\"", "'#'"}) {
    EXPECT_NE(error("x = {a = " + text + deep).find(": key: got over 8 names"), std::string::npos)
        << text;
  }
}

TEST(TomlKeys, AreNotDotsElsewhere) {
  const std::string dots = repeated(". ", 20);
  EXPECT_EQ(error("# " + dots + "\na = 'b " + dots + "' # ' " + dots + "\n"), kNoError);
  EXPECT_EQ(error("a = \"" + dots + "\\\" " + dots + "\"\n"), kNoError);
  EXPECT_EQ(error("a = '''\n" + dots + "'\"\n" + dots + "'''\nb = \"\"\"" + dots + "\n\\\"\"" +
                  dots + "\"\"\"\n"),
            kNoError);
  EXPECT_EQ(error("a = [" + repeated("0.5, ", 20) + "]"), kNoError);
}

}  // namespace
}  // namespace nibble::inline graph
