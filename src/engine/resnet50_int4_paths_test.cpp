// SPDX-License-Identifier: Apache-2.0
// NVIDIA's INT4 ResNet-50 on every path, the definition included: the recorded integers at every
// block, and the same answers fused, packed or not, in any batch, with any number of threads.
#include <gtest/gtest.h>

#include "engine/test_resnet50_int4_golden.h"

namespace nibble::inline engine {
namespace {

class ResNet50Int4Paths : public ResNet50Int4 {
 protected:
  // Of made_up and zeros, one after the other.
  static std::vector<std::byte> answers(const EngineOptions& options) {
    std::vector<std::byte> input = made_up();
    const std::vector<std::byte> dark = zeros();
    input.insert(input.end(), dark.begin(), dark.end());
    const Engine fused = engine(options);
    std::vector<std::byte> output(fused.output().bytes * 2);
    fused.run(input, 2, output);
    return output;
  }
};

TEST_F(ResNet50Int4Paths, HaveTheRecordedSumsAtEveryBlock) {
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(name_of(isa));
    set_isa(isa);
    const Engine layers = engine({.threads = 2, .keeps_layers = true});
    check_layers(layers, zeros(), kZeros);
    check_layers(layers, made_up(), kMadeUp);
  }
}

TEST_F(ResNet50Int4Paths, AgreeWithTheDefinitionsInEveryValue) {
  EXPECT_EQ(answers({.device = "check(cpu,reference)", .threads = 2}), answers({.threads = 1}));
}

TEST_F(ResNet50Int4Paths, AnswerTheSameWhateverTheThreadsAndBatches) {
  const std::vector<std::byte> wanted = answers({.threads = 1});
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(name_of(isa));
    set_isa(isa);
    EXPECT_EQ(answers({.max_batch = 2, .threads = 1}), wanted);
    for (const bool packs_halves : {false, true})
      EXPECT_EQ(answers({.max_batch = 2, .threads = 2, .packs_halves = packs_halves}), wanted);
    EXPECT_EQ(answers({.threads = 3}), wanted);
  }
}

}  // namespace
}  // namespace nibble::inline engine
