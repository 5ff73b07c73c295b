// SPDX-License-Identifier: Apache-2.0
#include "graph/foreign_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline graph {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

TEST(ForeignFile, SaysWhatItIsAndWhatToDo) {
  const TemporaryFolder folder;
  const auto error_with = [&](const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = folder.put(name, bytes);
    return error_of([&] { refuse_foreign_file(path); });
  };
  EXPECT_EQ(error_with("a.onnx", "anything"),
            "[read_model] " + (folder.path() / "a.onnx").string() +
                ": got an ONNX file, expected a .nib model: 'nibble convert FILE MODEL.nib' makes "
                "one");
  EXPECT_THAT(error_with("b.nib", "\x08\x08\x12\x07pytorch"), HasSubstr("got an ONNX file"));
  EXPECT_THAT(error_with("c.npz", "PK\x03\x04" + std::string(9, '\0')),
              HasSubstr("got arrays (.npz), expected a .nib model: 'nibble convert FILE MODEL.nib "
                        "--network NAME'"));
  EXPECT_THAT(error_with("d.pt", "PK\x03\x04" + std::string(9, '\0')), HasSubstr("PyTorch"));
  EXPECT_THAT(error_with("e", "\x93NUMPY\x01\0"s), HasSubstr("got an array (.npy)"));
  EXPECT_THAT(error_with("f", "\x89PNG\r\n\x1a\n"), HasSubstr("got a picture (PNG)"));
  EXPECT_THAT(error_with("g", "\x1c\0\0\0TFL3..."s), HasSubstr("TensorFlow Lite"));
  EXPECT_THAT(error_with("h.toml", "input = [3]\n"), HasSubstr("got a file of text"));
  EXPECT_THAT(error_with("i.nib", "not a model at all"), HasSubstr("got a file of text"));
  EXPECT_THAT(error_of([&] { refuse_foreign_file(folder.path()); }), HasSubstr("got a folder"));
}

TEST(ForeignFile, ModelsAndWhatNobodyKnowsPass) {
  const TemporaryFolder folder;
  const auto passes = [&](const std::string& bytes) {
    return error_of([&] { refuse_foreign_file(folder.put("x.nib", bytes)); }) == "no error";
  };
  EXPECT_TRUE(passes("\x10\0\0\0\0\0\0\0{\"__metadata__\":"s));
  EXPECT_TRUE(passes("")) << "the reader says how many bytes are missing";
  EXPECT_TRUE(passes("\x01\x02\x03"));
  EXPECT_EQ(error_of([&] { refuse_foreign_file(folder.path() / "none"); }), "no error");
}

}  // namespace
}  // namespace nibble::inline graph
