// SPDX-License-Identifier: Apache-2.0
// NVIDIA's INT4 ResNet-50 has the recorded integers at every block on the fast paths; fused, in
// batches and with any number of threads it answers the same.
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "engine/test_resnet50_int4_golden.h"

namespace nibble::inline engine {
namespace {

TEST_F(ResNet50Int4, HasTheRecordedSumsAtEveryBlock) {
  for (const Isa isa : supported_isas()) {
    if (isa == Isa::reference) continue;  // long: resnet50_int4_paths_test
    set_isa(isa);
    const Engine layers = engine({.threads = 2, .keeps_layers = true});
    if (!kIsSanitized) check_layers(layers, zeros(), kZeros);  // touches the same memory
    check_layers(layers, made_up(), kMadeUp);
  }
}

TEST_F(ResNet50Int4, AnswersTheSameFusedInBatchesOnAnyThreads) {
  std::vector<std::byte> input = made_up();
  const std::vector<std::byte> dark = zeros();
  input.insert(input.end(), dark.begin(), dark.end());
  input.insert(input.end(), input.begin(), input.begin() + 3 * kSide * kSide);
  std::vector<std::byte> wanted;
  for (const auto& [threads, batch] : {std::pair{1, 1}, {2, 3}, {3, 2}}) {
    const Engine fused = engine({.max_batch = batch, .threads = threads});
    std::vector<std::byte> output(fused.output().bytes * 3);
    fused.run(input, 3, output);
    if (wanted.empty()) wanted = output;
    EXPECT_EQ(output, wanted);
    const std::vector<std::int64_t> logits = as_integers(fused.output(), output);
    for (const auto& [image, top] : {std::pair{0, 488}, {1, 549}, {2, 488}}) {
      const auto first = logits.begin() + image * 1000;
      EXPECT_EQ(std::max_element(first, first + 1000) - first, top);
    }
  }
}

}  // namespace
}  // namespace nibble::inline engine
