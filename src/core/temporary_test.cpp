// SPDX-License-Identifier: Apache-2.0
// Tests of temporaries: they go with whoever made them, and what a dead process left goes, too.
#include "core/temporary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <memory>

#include "core/atomic_file.h"
#include "core/test_support.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TemporaryTest : public testing::Test {
 protected:
  std::unique_ptr<Temporary> make(Temporary::Kind kind) const {
    return std::make_unique<Temporary>(folder_.path(), kind, target_);
  }
  // The body in a process of its own that ends at once, as by kill -9.
  static void in_killed_process(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      body();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }

  const TemporaryFolder folder_;
  const fs::path target_ = folder_.path() / "target";
};

TEST_F(TemporaryTest, GetsItsNameOrGoes) {
  for (const Temporary::Kind kind : {Temporary::Kind::file, Temporary::Kind::folder}) {
    {
      const auto temporary = make(kind);
      EXPECT_EQ(folder_.files(), 1);
      if (kind == Temporary::Kind::folder) {
        fs::create_directories(temporary->path() / "a/b");
        std::ofstream(temporary->path() / "a/b/file") << "x";
      }
    }
    EXPECT_EQ(folder_.files(), 0);
    make(kind)->rename_to(target_);
    EXPECT_EQ(fs::is_directory(target_), kind == Temporary::Kind::folder);
    EXPECT_EQ(folder_.files(), 1);
    fs::remove_all(target_);
  }
}

TEST_F(TemporaryTest, ThatCannotBeRenamedGoesAndTheReasonIsSaid) {
  folder_.put("target/file", "");
  EXPECT_EQ(error_of([&] { make(Temporary::Kind::file)->rename_to(target_); }),
            "[write] cannot rename to " + target_.string() + ": Is a directory");
  EXPECT_EQ(folder_.files(), 1);
}

TEST_F(TemporaryTest, WhatADeadProcessLeftIsSwept) {
  in_killed_process([&] {
    (void)make(Temporary::Kind::file).release();
    Temporary* folder = make(Temporary::Kind::folder).release();
    std::ofstream(folder->path() / "file") << "x";
  });
  EXPECT_EQ(folder_.files(), 2);
  sweep_temporaries(folder_.path());
  EXPECT_EQ(folder_.files(), 0);
}

TEST_F(TemporaryTest, WhatIsBeingWrittenIsNotSwept) {
  const auto file = make(Temporary::Kind::file);
  const auto folder = make(Temporary::Kind::folder);
  folder_.put("mine.tmp", "");
  folder_.put(".nibble-notes", "");
  sweep_temporaries(folder_.path());
  EXPECT_TRUE(fs::exists(file->path()));
  EXPECT_TRUE(fs::exists(folder->path()));
  EXPECT_EQ(folder_.files(), 4);
}

TEST_F(TemporaryTest, NeitherLinksNorPipesAreFollowed) {
  folder_.put("elsewhere/file", "x");
  fs::create_directory_symlink(folder_.path() / "elsewhere", folder_.path() / ".nibble-1-1.tmp");
  ASSERT_EQ(::mkfifo((folder_.path() / ".nibble-1-2.tmp").c_str(), 0600), 0);
  sweep_temporaries(folder_.path());
  EXPECT_EQ(folder_.content_of("elsewhere/file"), "x");
  EXPECT_EQ(folder_.files(), 3);
}

TEST_F(TemporaryTest, ASignalHandlerRemovesThemAll) {
  in_killed_process([&] {
    (void)make(Temporary::Kind::file).release();
    Temporary* folder = make(Temporary::Kind::folder).release();
    for (int i = 0; i < 200; ++i)
      std::ofstream(folder->path() / (std::string(100, 'x') + std::to_string(i))) << "x";
    remove_temporaries();
  });
  EXPECT_EQ(folder_.files(), 0);
}

TEST_F(TemporaryTest, TheFirstWriterInAFolderSweepsIt) {
  folder_.put("again/.nibble-1-0.tmp", "half");
  AtomicFile file(folder_.path() / "again/data");
  file.commit();
  EXPECT_FALSE(fs::exists(folder_.path() / "again/.nibble-1-0.tmp"));
  EXPECT_TRUE(fs::exists(folder_.path() / "again/data"));
}

}  // namespace
}  // namespace nibble::inline core
