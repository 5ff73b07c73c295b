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
                            tar_file("pax", "30 path=other\n", 'x') + tar_file("link", "", '2') +
                            tar_file("b", "", '\0', "long/prefix") + kTarEnd;
  const std::vector<TarFile> files = parse_tar(bytes_of(bytes), "x.tar");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "folder/a");
  EXPECT_EQ(files[0].data.size(), 700U);
  EXPECT_EQ(files[0].data[699], std::byte{'d'});
  EXPECT_EQ(files[1].name, "long/prefix/b");
  EXPECT_TRUE(parse_tar(bytes_of(kTarEnd), "x.tar").empty());
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
