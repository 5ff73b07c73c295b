// SPDX-License-Identifier: Apache-2.0
// Tests of accuracy logs.
#include "inference/accuracy_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_corpus.h"
#include "core/test_support.h"

namespace nibble::inline inference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(AccuracyLog, ClassesAreLittleEndianAndTheFirstCounts) {
  const LoggedAnswers answers = parse_accuracy_log(
      R"([ { "seq_id" : 0, "qsl_idx" : 32084, "data" : "0F020000" },
           { "seq_id" : 1, "qsl_idx" : 7, "data" : "e703000000000000", "token_count" : 1 },
           { "seq_id" : 2, "qsl_idx" : 7, "data" : "01000000" } ])",
      "log");
  EXPECT_THAT(answers, ElementsAre(Pair(7, 999), Pair(32084, 527)));
}

TEST(AccuracyLog, WhatIsWrongIsNamed) {
  const auto error = [](const char* text) {
    return error_of([&] { parse_accuracy_log(text, "log"); });
  };
  EXPECT_EQ(error("[1"), "[accuracy log] log: got no JSON, expected a list of answers");
  EXPECT_EQ(error("{}"), "[accuracy log] log: got object, expected a list of answers");
  for (const char* text : {"[1]", "[{}]", R"([{"qsl_idx":-1,"data":"00000000"}])",
                           R"([{"qsl_idx":1.5,"data":"00000000"}])"})
    EXPECT_THAT(error(text), HasSubstr("answer 0: qsl_idx")) << text;
  for (const char* data : {"\"\"", "\"0F02000\"", "\"0F0200000\"", "\"0F02000x\"", "\"000000ff\"",
                           "7", "\"00000000ffffffff\""}) {
    const std::string text = std::string(R"([{"qsl_idx":1,"data":)") + data + "}]";
    EXPECT_THAT(error(text.c_str()), HasSubstr("answer 0: data")) << data;
  }
  EXPECT_EQ(error("[{}]"),
            "[accuracy log] log: answer 0: qsl_idx: got nothing, expected an index from 0");
  EXPECT_EQ(error(R"([{"qsl_idx":1,"data":"0F"}])"),
            "[accuracy log] log: answer 0: data: got '0F', expected 8 or 16 hex digits of a class");
  EXPECT_THAT(error(R"([{"qsl_idx":1.5}])"), HasSubstr("got 1.5, expected"));
  EXPECT_THAT(error("[[]]"), HasSubstr("got no object but array, expected"));
  EXPECT_THAT(error_of([] { read_accuracy_log("/nowhere"); }), HasSubstr("cannot open /nowhere"));
}

TEST(AccuracyLog, CorpusNamesSayWhatIsValid) {
  for_each_corpus_file("accuracy_log", 7, [](const std::filesystem::path& path, bool is_valid) {
    EXPECT_EQ(error_of([&] { read_accuracy_log(path); }) == "no error", is_valid);
  });
}

}  // namespace
}  // namespace nibble::inline inference
