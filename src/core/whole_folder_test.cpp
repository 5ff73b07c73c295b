// SPDX-License-Identifier: Apache-2.0
// Tests of folders that appear whole or not at all.
#include "core/whole_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WholeFolderTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const fs::path target_ = folder_.path() / "target";
};

TEST_F(WholeFolderTest, AppearsAtCommitWithTheFoldersAboveIt) {
  const fs::path deep = folder_.path() / "a/b/target";
  {
    WholeFolder whole(deep, ExistingFiles::refused);
    whole.write("x", "1");
    whole.write("sub/y", "2");
    EXPECT_FALSE(fs::exists(deep));
    whole.commit();
  }
  EXPECT_EQ(folder_.content_of("a/b/target/x"), "1");
  EXPECT_EQ(folder_.content_of("a/b/target/sub/y"), "2");
  EXPECT_EQ(std::distance(fs::directory_iterator(deep.parent_path()), {}), 1);
}

TEST_F(WholeFolderTest, WithoutCommitNothingHasHappened) {
  WholeFolder(folder_.path() / "a/b/target", ExistingFiles::refused).write("x", "1");
  WholeFolder(target_, ExistingFiles::kept).write("x", "1");
  EXPECT_EQ(folder_.files(), 0);
}

TEST_F(WholeFolderTest, RefusesAPlaceWhereSomethingIs) {
  folder_.put("target/mine", "");
  EXPECT_THAT(error_of([&] { WholeFolder(target_, ExistingFiles::refused); }),
              HasSubstr("got something that is there, expected a new or an empty folder"));
  const fs::path file = folder_.put("file", "");
  EXPECT_THAT(error_of([&] { WholeFolder(file, ExistingFiles::kept); }),
              HasSubstr("cannot create " + file.string() + ": Not a directory"));
  EXPECT_EQ(folder_.files(), 2);
}

TEST_F(WholeFolderTest, ReplacesFilesOfTheSameNamesAlone) {
  folder_.put("target/mine", "old");
  folder_.put("target/x", "old");
  WholeFolder whole(target_, ExistingFiles::kept);
  whole.write("x", "new");
  whole.write("sub/y", "new");
  EXPECT_EQ(folder_.content_of("target/x"), "old");
  whole.commit();
  EXPECT_EQ(folder_.content_of("target/x"), "new");
  EXPECT_EQ(folder_.content_of("target/sub/y"), "new");
  EXPECT_EQ(folder_.content_of("target/mine"), "old");
}

TEST_F(WholeFolderTest, AFileThatCannotMoveBringsTheOthersBack) {
  for (const char* obstacle : {"target/b/folder/in the way", "target/z/folder/in the way"}) {
    folder_.put("target/x", "old");
    folder_.put(obstacle, "");
    {
      WholeFolder whole(target_, ExistingFiles::kept);
      for (const char* name : {"b", "x", "y", "z"}) whole.write(name, "new");
      EXPECT_THAT(error_of([&] { whole.commit(); }), HasSubstr("Is a directory"));
    }
    EXPECT_EQ(folder_.content_of("target/x"), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(target_), {}), 2);
    fs::remove_all(target_);
  }
}

TEST_F(WholeFolderTest, AFullDiskLeavesTheOldFiles) {
  folder_.put("target/x", "old");
  {
    const FileSizeLimit full(10);
    WholeFolder whole(target_, ExistingFiles::kept);
    EXPECT_THAT(error_of([&] { whole.write("x", std::string(100, 'x')); }),
                HasSubstr("File too large"));
  }
  EXPECT_EQ(folder_.content_of("target/x"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(target_), {}), 1);
}

}  // namespace
}  // namespace nibble::inline core
