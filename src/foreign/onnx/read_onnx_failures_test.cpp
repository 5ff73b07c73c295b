// SPDX-License-Identifier: Apache-2.0
// Files that are no models, or models that have no form here: one clear line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_corpus.h"
#include "core/test_support.h"
#include "foreign/onnx/test_graph.h"
#include "nibble/core/error.h"
#include "nibble/foreign/onnx.h"

namespace nibble::inline foreign {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string failure_of(const TestGraph& graph) {
  return error_of([&] { (void)graph.read(); });
}

TEST(ReadOnnxFailures, AllUnknownNodesStandInOneMessage) {
  TestGraph graph({1, 2, 4, 4});
  graph.node("HardSwish", {"x"}, "a");
  graph.node("Relu", {"a"}, "b");
  graph.node("Transpose", {"x"}, "c");
  graph.node("Einsum", {"b", "c"}, "y");
  EXPECT_THAT(failure_of(graph),
              AllOf(HasSubstr("3 nodes have no form in Nibble"),
                    HasSubstr("HardSwish 'HardSwish_a' (opset 13)"), HasSubstr("Einsum 'Einsum_y'"),
                    HasSubstr("Transpose 'Transpose_c'"), Not(HasSubstr("Relu"))));
}

TEST(ReadOnnxFailures, VersionsOutsideOfTheRangeAreRefused) {
  for (const int version : {8, 22}) {
    TestGraph graph({1, 2});
    graph.node("Relu", {"x"}, "y");
    graph.model.mutable_opset_import(0)->set_version(version);
    EXPECT_THAT(failure_of(graph), HasSubstr("opset: got " + std::to_string(version)));
  }
}

// The last window of ceil_mode counts the padding alone; a padding of 2 would hold whole windows.
TEST(ReadOnnxFailures, UnlikePaddingIsRefusedWhereNoPoolOfNibbleHasTheWindows) {
  for (const std::int64_t counts_padding : {0, 1}) {
    TestGraph graph({1, 1, 7, 7});
    graph.node("AveragePool", {"x"}, "y")
        .with("kernel_shape", std::vector<std::int64_t>{2, 2})
        .with("strides", std::vector<std::int64_t>{2, 2})
        .with("ceil_mode", std::int64_t{1})
        .with("count_include_pad", counts_padding);
    EXPECT_THAT(failure_of(graph), HasSubstr("with unlike padding on the two sides"));
  }
}

TEST(ReadOnnxFailures, DataThatDoesNotFitIsNamed) {
  TestGraph graph({1, 2});
  graph.floats("w", {1LL << 40, 1LL << 10}, {1, 2});
  graph.node("MatMul", {"x", "w"}, "y");
  EXPECT_THAT(failure_of(graph), AllOf(HasSubstr("tensor 'w'"), HasSubstr("got 8 bytes")));
}

TEST(ReadOnnxFailures, ConstantsGrowNoFurtherThanTheFileJustifies) {
  TestGraph graph({1, 2});
  graph.integers("shape", {1LL << 20, 1LL << 10});
  graph.node("ConstantOfShape", {"shape"}, "c");
  graph.node("Add", {"x", "c"}, "y");
  EXPECT_THAT(failure_of(graph), HasSubstr("more numbers than the file has"));
}

TEST(ReadOnnxFailures, WhatNoNodeGivesIsNamed) {
  TestGraph graph({1, 2});
  graph.node("Relu", {"z"}, "y");
  EXPECT_THAT(failure_of(graph), HasSubstr("Relu 'Relu_y': input 'z': got nothing"));
}

TEST(ReadOnnxFailures, OpenExtentsOfPicturesAreRefused) {
  TestGraph graph({1, 3, 0, 4});
  graph.node("Relu", {"x"}, "y");
  EXPECT_THAT(failure_of(graph), HasSubstr("only the batch may be open"));
}

TEST(ReadOnnxFailures, CutFilesAreRefused) {
  TestGraph graph({1, 2});
  graph.counted("w", {2, 100});
  graph.node("MatMul", {"x", "w"}, "y");
  const std::string bytes = graph.model.SerializeAsString();
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const auto cut = std::as_bytes(std::span(bytes)).first(size);
    EXPECT_THAT(error_of([&] { (void)parse_onnx(cut, "cut.onnx"); }),
                HasSubstr("[read_onnx] cut.onnx: "));
  }
  EXPECT_EQ(error_of([] { (void)parse_onnx({}, "none.onnx"); }),
            "[read_onnx] none.onnx: file: got 0 bytes, expected an ONNX model");
}

// Paddings were once tried one by one, two billion of them.
TEST(ReadOnnxFailures, HugeWindowsAreRefusedAtOnce) {
  const std::int64_t most = 2147483647;
  TestGraph graph({1, 1, 8, 8});
  graph.node("MaxPool", {"x"}, "y")
      .with("kernel_shape", std::vector<std::int64_t>{most, most})
      .with("pads", std::vector<std::int64_t>{0, 0, most - 1, most - 1})
      .with("strides", std::vector<std::int64_t>{1, 1});
  EXPECT_THAT(error_of([&] { (void)graph.read(); }), HasSubstr("limit 'geometry'"));
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.put("w.bin", std::string("\0\0\x80\x3f\0\0\0\x40xxxx", 12));  // 1 and 2
    folder_.put("inside/w.bin", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    std::filesystem::create_symlink("../w.bin", folder_.path() / "inside" / "link.bin");
  }

  Model read(const std::string& folder, const std::string& location, const std::string& offset) {
    TestGraph graph({1, 2});
    auto& tensor = graph.floats("w", {2, 1}, {});
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const std::string& key, const std::string& value) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", offset);
    graph.node("MatMul", {"x", "w"}, "y");
    return read_onnx(folder_.put(folder + "m.onnx", graph.model.SerializeAsString()));
  }

  std::string error(const std::string& folder, const std::string& location,
                    const std::string& offset = "0") {
    return error_of([&] { (void)read(folder, location, offset); });
  }

  TemporaryFolder folder_;
};

TEST_F(ExternalData, IsReadFromTheFolderOfTheModel) {
  EXPECT_EQ(read("", "w.bin", "0").parameters[0].as<float>()[1], 2.0F);
  EXPECT_EQ(read("", "inside/w.bin", "0").parameters[0].as<float>()[0], 1.0F);
}

TEST_F(ExternalData, MustNotLeaveTheFolder) {
  for (const std::string location : {"../w.bin", "/etc/passwd", "", ".", "link.bin"}) {
    EXPECT_THAT(error("inside/", location), HasSubstr("a file in the folder of the model"))
        << location;
  }
}

// Else a file of a hundred bytes costs as much as it likes.
TEST_F(ExternalData, GivesEachOfItsBytesOnce) {
  TestGraph graph({1, 2});
  for (const std::string name : {"w1", "w2"}) {
    auto& tensor = graph.floats(name, {2, 1}, {});
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value("w.bin");
  }
  graph.node("MatMul", {"x", "w1"}, "a");
  graph.node("MatMul", {"x", "w2"}, "b");
  graph.node("Add", {"a", "b"}, "y");
  EXPECT_THAT(error_of([&] {
                (void)read_onnx(folder_.put("twice.onnx", graph.model.SerializeAsString()));
              }),
              HasSubstr("external data of 'w2': bytes of all tensors in 'w.bin': got 16, expected "
                        "at most 12, its size"));
}

TEST_F(ExternalData, MustHoldWhatIsAskedFor) {
  EXPECT_THAT(error("", "w.bin", "5"), HasSubstr("got 12 bytes, expected 8 from byte 5 on"));
  EXPECT_THAT(error("", "w.bin", "-1"), HasSubstr("a number of bytes"));
  EXPECT_THAT(error("", "none.bin"), HasSubstr("a file that can be read"));
}

TEST(OnnxCorpus, FilesAreReadOrRefusedAsTheirNamesSay) {
  for_each_corpus_file("onnx", 8, [](const std::filesystem::path& path, bool is_valid) {
    if (is_valid) {
      EXPECT_NO_THROW((void)read_onnx(path));
    } else {
      EXPECT_THROW((void)read_onnx(path), Error);
    }
  });
}

}  // namespace
}  // namespace nibble::inline foreign
