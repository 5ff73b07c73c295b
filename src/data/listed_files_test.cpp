// SPDX-License-Identifier: Apache-2.0
// Tests of folders with val_map.txt.
#include "data/listed_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline data {
namespace {

using ::testing::HasSubstr;

TEST(FileList, LinesAreNamesAndLabels) {
  const auto lines = parse_file_list("a.JPEG\t65\r\n\nb.JPEG 970\n  c\t 0", "list");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].name, "a.JPEG");
  EXPECT_EQ(lines[0].label, 65);
  EXPECT_EQ(lines[1].label, 970);
  EXPECT_EQ(lines[2].name, "c");
  EXPECT_EQ(error_of([] { parse_file_list("a 1\nb\n", "list"); }),
            "[file list] list, line 2: got '', expected NAME and a label of 0 to 65535");
  for (const char* bad : {"a x", "a 1 2", "a -1", "a 65536", "a 1.5", "../a 1"})
    EXPECT_THAT(error_of([&] { parse_file_list(bad, "list"); }),
                HasSubstr("[file list] list, line 1"));
}

TEST(FileList, AllLinesHaveLabelsOrNoneHas) {
  const auto lines = parse_file_list("a.JPEG\t-\nb.JPEG -", "list");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_LT(lines[1].label, 0);
  EXPECT_EQ(error_of([] { parse_file_list("a -\n\nb 1\n", "list"); }),
            "[file list] list, line 3: got a label, expected one in all lines or in none");
  EXPECT_EQ(error_of([] { parse_file_list("a 1\nb -\n", "list"); }),
            "[file list] list, line 2: got no label, expected one in all lines or in none");
  for (const char* bad : {"a --", "a - 1", "a -\nb"})
    EXPECT_THAT(error_of([&] { parse_file_list(bad, "list"); }), HasSubstr("a label of 0 to"));
  const TemporaryFolder folder;
  folder.put("a", "x");
  folder.put("val_map.txt", "a -\n");
  const auto files = read_file_list(folder.path());
  ASSERT_EQ(files.size(), 1U);
  EXPECT_THAT(error_of([&] { check_labelled(files, folder.path()); }),
              HasSubstr("files without labels"));
  EXPECT_THAT(error_of([&] { read_listed_labels(folder.path()); }),
              HasSubstr("files without labels"));
  EXPECT_TRUE(list_listed_pictures(folder.path()).class_names.empty());
}

TEST(FileList, FilesAreFoundThereOrAsTensorsAndTheListBeside) {
  const TemporaryFolder folder;
  folder.put("val/a.JPEG", "x");
  folder.put("val/c.JPEG.npy", "x");
  EXPECT_FALSE(has_file_list(folder.path() / "val"));
  EXPECT_THAT(error_of([&] { read_file_list(folder.path() / "val"); }), HasSubstr("val_map.txt"));
  folder.put("val_map.txt", "a.JPEG 3\nb.JPEG 4\nc.JPEG 5\n");
  for (const char* name : {"val", "val/"}) {
    ASSERT_TRUE(has_file_list(folder.path() / name));
    const auto files = read_file_list(folder.path() / name);
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[0].path, folder.path() / name / "a.JPEG");
    EXPECT_EQ(files[0].index, 0);
    EXPECT_EQ(files[1].path, folder.path() / name / "c.JPEG.npy");
    EXPECT_EQ(files[1].label, 5);
    EXPECT_EQ(files[1].index, 2);
  }
  folder.put("val/val_map.txt", "b 1\n");
  EXPECT_THAT(error_of([&] { read_file_list(folder.path() / "val"); }),
              HasSubstr("got none of the 1 of "));
}

}  // namespace
}  // namespace nibble::inline data
