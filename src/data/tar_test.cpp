// SPDX-License-Identifier: Apache-2.0
// Tests of tar archives: plain files are found, every wrong header is refused.
#include "data/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "core/test_support.h"

namespace nibble::inline data {
namespace {

using testing::HasSubstr;

std::string octal(unsigned value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "%0*o", digits, value);
  return text;
}

std::string header(const std::string& name, const std::string& size, char kind,
                   const std::string& prefix = "") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block.replace(148, 8, "        ");
  block[156] = kind;
  block.replace(257, 8, std::string("ustar\00000", 8));
  block.replace(345, prefix.size(), prefix);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  block.replace(148, 7, octal(sum, 6) + '\0');
  return block;
}

std::string file(const std::string& name, const std::string& data, char kind = '0',
                 const std::string& prefix = "") {
  const std::string padding((512 - data.size() % 512) % 512, '\0');
  return header(name, octal(static_cast<unsigned>(data.size()), 11), kind, prefix) + data + padding;
}

const std::string kEnd(1024, '\0');

std::string error_of_tar(const std::string& bytes) {
  return error_of([&] { parse_tar(bytes_of(bytes), "x.tar"); });
}

TEST(Tar, PlainFilesAreFoundAndOthersSkipped) {
  const std::string data(700, 'd');
  const std::string bytes = file("folder/", "", '5') + file("folder/a", data) +
                            file("pax", "30 path=other\n", 'x') + file("link", "", '2') +
                            file("b", "", '\0', "long/prefix") + kEnd;
  const std::vector<TarFile> files = parse_tar(bytes_of(bytes), "x.tar");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "folder/a");
  EXPECT_EQ(files[0].data.size(), 700U);
  EXPECT_EQ(files[0].data[699], std::byte{'d'});
  EXPECT_EQ(files[1].name, "long/prefix/b");
  EXPECT_TRUE(parse_tar(bytes_of(kEnd), "x.tar").empty());
}

TEST(Tar, WrongHeadersAreRefused) {
  EXPECT_THAT(error_of_tar(""), HasSubstr("x.tar: header at 0: got 0 bytes, expected 512"));
  const std::string bytes = file("a", "text") + kEnd;
  for (std::size_t at = 0; at < 512; ++at) {
    if (at == 155) continue;  // what follows the checksum counts for nothing
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(error_of_tar(changed), "no error") << at;
  }
  EXPECT_THAT(error_of_tar(header("a", "77777777777", '0') + kEnd), HasSubstr("size: got 858993"));
  EXPECT_THAT(error_of_tar(header("a", "12x", '0') + kEnd), HasSubstr("no octal number"));
  EXPECT_THAT(error_of_tar(header("a", "\x80\x01", '0') + kEnd), HasSubstr("no octal number"));
}

TEST(Tar, EveryCutIsRefused) {
  const std::string bytes = file("a", std::string(600, 'x')) + file("b", "y");
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_NE(error_of_tar(bytes.substr(0, size)), "no error") << size;
  }
}

}  // namespace
}  // namespace nibble::inline data
