// SPDX-License-Identifier: Apache-2.0
// Tests of the text of a layer: lines, keys, paths, and the place that every error names.
#include "foreign/layer_directory/layer_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_corpus.h"
#include "core/test_support.h"
#include "foreign/layer_directory/layer.h"

namespace nibble::inline foreign {
namespace {

std::string error_with(const std::string& text) {
  return error_of([&] { (void)parse_record(text, "f"); });
}

TEST(LayerRecord, HasATypeKeysAndThePathsAfterThem) {
  for (const char* text : {"Scale\r\nmode=a=b\r\nout=f32,1:3\r\n!model/x\r\n",
                           "Scale\nmode=a=b\nout=f32,1:3\n!model/x"}) {
    const LayerRecord record = parse_record(text, "f");
    EXPECT_EQ(record.type, "Scale");
    ASSERT_EQ(record.entries.size(), 2U);
    EXPECT_EQ(record.find("mode")->value, "a=b");
    EXPECT_EQ(record.find("mode")->path, "");
    EXPECT_EQ(record.find("out")->path, "model/x");
    EXPECT_EQ(record.find("out")->line, 3U);
    EXPECT_EQ(record.find("none"), nullptr);
    EXPECT_EQ(error_of([&] { record.fail("out", "1", "2"); }),
              "[layer_directory] f:3: out: got 1, expected 2");
    EXPECT_EQ(error_of([&] { record.fail_path("out", "1", "2"); }),
              "[layer_directory] f:4: data of out: got 1, expected 2");
  }
}

TEST(LayerRecord, ErrorsNameTheLine) {
  EXPECT_EQ(error_with(""),
            "[layer_directory] f:1: type: got an empty file, expected the type of a layer");
  EXPECT_EQ(error_with("Re LU\n"),
            "[layer_directory] f:1: type: got 'Re LU', expected the type of "
            "a layer");
  EXPECT_EQ(error_with("ReLU\na=1\nb\n"),
            "[layer_directory] f:3: line: got 'b', expected key=value or !path");
  EXPECT_EQ(error_with("ReLU\na=1\n\n"),
            "[layer_directory] f:3: line: got '', expected key=value or !path");
  EXPECT_EQ(error_with("ReLU\n=1\n"),
            "[layer_directory] f:2: line: got '=1', expected key=value or !path");
  EXPECT_EQ(error_with("ReLU\na=1\nb=2\na=3\n"),
            "[layer_directory] f:4: a: got a key that was there, expected it once, as in line 2");
  EXPECT_EQ(error_with("ReLU\n!x\n"),
            "[layer_directory] f:2: data path: got one after no key, expected one just after a "
            "tensor");
  EXPECT_EQ(error_with("ReLU\na=1\n!x\n!y\n"),
            "[layer_directory] f:4: data path: got one after no key, expected one just after a "
            "tensor");
  EXPECT_EQ(error_with("ReLU\na=1\n!\n"),
            "[layer_directory] f:3: data path: got nothing, expected a path after '!'");
  EXPECT_EQ(error_with("ReLU\na=\x01\n"),
            "[layer_directory] f:2: line: got 'a=\xef\xbf\xbd', expected printable ASCII");
  EXPECT_EQ(error_with("ReLU\r\r\n"),
            "[layer_directory] f:1: line: got 'ReLU ', expected printable ASCII");
}

TEST(LayerRecord, LinesAreBounded) {
  std::string many = "ReLU\n";
  for (int i = 0; i < 64; ++i) many += "k" + std::to_string(i) + "=1\n";
  EXPECT_EQ(error_with(many), "[layer_directory] f:65: lines: got more, expected at most 64");
  EXPECT_EQ(error_with("ReLU\na=" + std::string(2000, '1')),
            "[layer_directory] f:2: length: got 2002, expected at most 1024");
}

TEST(LayerRecordCorpus, EveryFileIsReadOrRefusedAsItsNameSays) {
  for_each_corpus_file("layer_record", 20, [](const std::filesystem::path& path, bool is_valid) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(error_of([&] { (void)parse_layer(parse_record(text, "f")); }) == "no error",
              is_valid);
  });
}

}  // namespace
}  // namespace nibble::inline foreign
