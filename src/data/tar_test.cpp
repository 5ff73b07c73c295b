// SPDX-License-Identifier: Apache-2.0
// Tests of tar archives: plain files are found, every wrong header is refused.
#include "data/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "data/test_tar.h"

namespace nibble::inline data {
namespace {

using testing::HasSubstr;

std::string error_of_tar(const std::string& bytes) {
  return error_of([&] { parse_tar(bytes_of(bytes), "x.tar"); });
}

TEST(Tar, PlainFilesAreFoundAndOthersSkipped) {
  const std::string data(700, 'd');
  const std::string bytes = tar_file("folder/", "", '5') + tar_file("folder/a", data) +
                            tar_file("pax", "14 path=other\n", 'x') + tar_file("link", "", '2') +
                            tar_file("b", "", '\0', "long/prefix") + kTarEnd;
  const std::vector<TarFile> files = parse_tar(bytes_of(bytes), "x.tar");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "folder/a");
  EXPECT_EQ(files[0].data.size(), 700U);
  EXPECT_EQ(files[0].data[699], std::byte{'d'});
  EXPECT_EQ(files[1].name, "long/prefix/b");
  EXPECT_TRUE(parse_tar(bytes_of(kTarEnd), "x.tar").empty());
}

TEST(Tar, LongNamesAndOtherLettersAreThoseOfExtendedHeaders) {
  const TemporaryFolder folder;
  const std::string longest(300, 'n');
  const std::string bytes =
      tar_file("././@LongLink", longest + "/a.png" + '\0', 'L') +
      tar_file(longest.substr(0, 100), "1") +
      tar_file("PaxHeaders/b", "16 mtime=1234.5\n16 path=K\303\244se/b\n10 size=2\n", 'x') +
      tar_header("K?se/b", "0", '0') + "22" + std::string(510, '\0') + tar_file("c", "333") +
      kTarEnd;
  const std::vector<TarMember> members = list_tar(folder.put("x.tar", bytes));
  const std::vector<TarFile> files = parse_tar(bytes_of(bytes), "x.tar");
  ASSERT_EQ(members.size(), 3U);
  ASSERT_EQ(files.size(), 3U);
  const std::string names[] = {longest + "/a.png", "K\303\244se/b", "c"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(members[i].name, names[i]);
    EXPECT_EQ(files[i].name, names[i]);
    EXPECT_EQ(members[i].bytes, i + 1);
    EXPECT_EQ(files[i].data.size(), i + 1);
    EXPECT_EQ(bytes.substr(members[i].offset, i + 1),
              std::string(i + 1, static_cast<char>('1' + i)));
  }
}

TEST(Tar, WrongExtendedHeadersAreRefused) {
  for (const char* records : {"path=other\n", "13 path=other\n", "15 path=other\n", "3 \n",
                              "0 path=other\n", "14 path=other ", "12 size=1x2\n", "8 size=\n",
                              "11 size=-1\n", "99999999999999999999 path=a\n"}) {
    EXPECT_THAT(error_of_tar(tar_file("pax", records, 'x') + tar_file("a", "") + kTarEnd),
                HasSubstr("expected LENGTH KEY=VALUE"))
        << records;
  }
  EXPECT_THAT(error_of_tar(tar_file("pax", "13 size=9999\n", 'x') + tar_file("a", "") + kTarEnd),
              HasSubstr("size: got 9999, expected at most 1024"));
  EXPECT_THAT(
      error_of_tar(tar_file("long", std::string(70000, 'n'), 'L') + tar_file("a", "") + kTarEnd),
      HasSubstr("size: got 70000, expected at most 65536"));
}

TEST(Tar, ArchivesOnDiskAreListedByTheirHeaders) {
  const TemporaryFolder folder;
  const std::string data(700, 'd');
  const std::string bytes = tar_file("folder/a", data) + tar_file("b", "y") + kTarEnd;
  const std::vector<TarMember> members = list_tar(folder.put("x.tar", bytes));
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].name, "folder/a");
  EXPECT_EQ(members[1].bytes, 1U);
  EXPECT_EQ(bytes.substr(members[1].offset, 1), "y");
  EXPECT_THAT(error_of([&] { list_tar(folder.put("cut.tar", bytes.substr(0, 1600))); }),
              HasSubstr("cut.tar: header at 1536"));
}

TEST(Tar, WrongHeadersAreRefused) {
  EXPECT_THAT(error_of_tar(""), HasSubstr("x.tar: header at 0: got 0 bytes, expected 512"));
  const std::string bytes = tar_file("a", "text") + kTarEnd;
  for (std::size_t at = 0; at < 512; ++at) {
    if (at == 155) continue;  // what follows the checksum counts for nothing
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(error_of_tar(changed), "no error") << at;
  }
  std::string summed = bytes;
  summed[148] = '7';  // the first digit of the checksum
  EXPECT_THAT(error_of_tar(summed), HasSubstr("checksum: got '7"));
  EXPECT_THAT(error_of_tar(tar_header("a", "77777777777", '0') + kTarEnd),
              HasSubstr("size: got 858993"));
  EXPECT_THAT(error_of_tar(tar_header("a", "12x", '0') + kTarEnd), HasSubstr("no octal number"));
  EXPECT_THAT(error_of_tar(tar_header("a", "\x80\x01", '0') + kTarEnd),
              HasSubstr("no octal number"));
}

TEST(Tar, EveryCutIsRefused) {
  const std::string bytes = tar_file("a", std::string(600, 'x')) + tar_file("b", "y");
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_NE(error_of_tar(bytes.substr(0, size)), "no error") << size;
  }
}

}  // namespace
}  // namespace nibble::inline data
