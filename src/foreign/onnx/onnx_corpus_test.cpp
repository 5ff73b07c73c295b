// SPDX-License-Identifier: Apache-2.0
// The files that the fuzzer starts from.
#include <gtest/gtest.h>

#include "core/test_corpus.h"
#include "nibble/core/error.h"
#include "nibble/foreign/onnx.h"

namespace nibble::inline foreign {
namespace {

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
