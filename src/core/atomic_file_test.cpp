// SPDX-License-Identifier: Apache-2.0
// Tests of files that appear whole or not at all.
#include "core/atomic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#include "core/test_support.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("nibble_atomic_file_test_" + std::to_string(::getpid()));
  const fs::path path_ = folder_ / "data";
};

std::string error_of_commit(AtomicFile& file) {
  try {
    file.commit();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(AtomicFileTest, TheTargetChangesOnlyAtCommit) {
  put(path_, "old");
  AtomicFile file(path_);
  file.stream() << "new" << std::flush;
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(files(), 2);
  file.commit();
  EXPECT_EQ(content_of(path_), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, WithoutCommitNothingIsLeftBehind) {
  { AtomicFile(path_).stream() << "new"; }
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFileTest, LargeAndSmallPiecesKeepTheirOrder) {
  std::string expected;
  AtomicFile file(path_);
  for (int i = 0; i < 200; ++i) {
    const std::string piece(static_cast<std::size_t>(i * i * 7), static_cast<char>('a' + i % 26));
    expected += piece + '\n';
    file.stream() << piece;
    file.stream().put('\n');
  }
  file.commit();
  EXPECT_EQ(content_of(path_), expected);
}

TEST_F(AtomicFileTest, AFullDiskIsAnErrorAndTheOldFileStays) {
  put(path_, "old");
  std::string error;
  {
    const FileSizeLimit limit(4096);
    AtomicFile file(path_);
    file.stream() << std::string(100000, 'x') << "tail";
    error = error_of_commit(file);
  }
  EXPECT_NE(error.find(path_.string() + ": File too large"), std::string::npos) << error;
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, AFullDiskSeenOnlyByTheLastFlushIsAnError) {
  put(path_, "old");
  std::string error;
  {
    const FileSizeLimit limit(10);
    AtomicFile file(path_);
    file.stream() << "more than ten bytes";
    error = error_of_commit(file);
  }
  EXPECT_NE(error.find("File too large"), std::string::npos) << error;
  EXPECT_EQ(content_of(path_), "old");
}

TEST_F(AtomicFileTest, AFullDeviceSaysThatNoSpaceIsLeft) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  AtomicFile file("/dev/full");
  file.stream() << "x";
  EXPECT_EQ(error_of_commit(file), "[write] cannot write /dev/full: No space left on device");
}

TEST_F(AtomicFileTest, ADeviceIsWrittenInPlaceAndStaysADevice) {
  AtomicFile file("/dev/null");
  file.stream() << "x";
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, AMissingFolderIsNamedWithItsReason) {
  try {
    AtomicFile file(folder_ / "missing" / "data");
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("missing/data: No such file or directory"), std::string::npos) << text;
  }
}

TEST_F(AtomicFileTest, AFolderIsNotReplaced) {
  EXPECT_THROW(AtomicFile{folder_}, Error);
}

TEST_F(AtomicFileTest, WhatCannotBeWrittenIsRefusedBeforeAnythingIs) {
  EXPECT_THROW(check_writable(folder_ / "missing" / "data"), Error);
  check_writable(path_);
  EXPECT_EQ(files(), 0);
  put(path_, "old");
  check_writable(path_);
  EXPECT_EQ(content_of(path_), "old");
}

TEST_F(AtomicFileTest, ALinkStaysAndItsTargetIsReplaced) {
  put(path_, "old");
  fs::create_symlink(path_, folder_ / "link");
  AtomicFile file(folder_ / "link");
  file.stream() << "new";
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content_of(path_), "new");
}

TEST_F(AtomicFileTest, PermissionsOfTheOldFileAreKept) {
  put(path_, "old");
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  AtomicFile file(path_);
  file.commit();
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFileTest, ASecondCommitIsRefused) {
  AtomicFile file(path_);
  file.commit();
  EXPECT_THROW(file.commit(), Error);
}

}  // namespace
}  // namespace nibble::inline core
