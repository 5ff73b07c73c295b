// SPDX-License-Identifier: Apache-2.0
// Means of windows that reach over the border of a picture.
#include <gtest/gtest.h>

#include "engine/test_engine_fixture.h"
#include "graph/integer_form.h"

namespace nibble::inline engine {
namespace {

class Means : public EngineFixture {
 protected:
  // `definition` is of integer operations alone.
  void check_fused(const Model& model, const Model& definition, std::int64_t low,
                   std::int64_t high) {
    const NaiveExamples examples(definition, dice_, low, high, kBatch);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      const Engine engine(copy_of(model), {.max_batch = 2, .threads = 2});
      EXPECT_EQ(answers_of(engine, examples.input, kBatch), examples.values.back()) << name_of(isa);
    }
  }
};

TEST_F(Means, RunOnBytesWithWindowsThatDiffer) {
  for (const std::int64_t bits : {4, 15, 22, 23}) {
    NetworkMaker means = picture(65);
    means.add(SumPool{{3, 4}, {1, 2}, {2, 1}, bits});
    check_picture(means);
    means.rescale(means.last(), dice_.many(65, 0, 5), bits, -127, 127);
    check_picture(means);
  }
}

// Of 16 bits, some of them beyond 32 bits before they are rescaled.
TEST_F(Means, RunOnLargeValuesWithWindowsThatDiffer) {
  for (const std::int64_t bits : {4, 15, 16, 24}) {
    NetworkMaker maker({6, 7, 5}, integers_format("int16"));
    maker.add(SumPool{{3, 4}, {1, 2}, {2, 1}, bits});
    maker.rescale(maker.last(), {3}, bits + 8, -127, 127);
    check_fused(maker.model(), maker.model(), -32768, 32767);
  }
}

TEST_F(Means, RunAsAveragePoolsOfIntegers) {
  NetworkMaker maker = picture(6);
  maker.add(Dropout{});
  maker.add(AveragePool{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}});
  maker.add(
      AveragePool{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}, .counts_padding = false});
  maker.add(GlobalAveragePool{});
  check_fused(maker.model(), integer_form(maker.model()), -128, 127);
}

}  // namespace
}  // namespace nibble::inline engine
