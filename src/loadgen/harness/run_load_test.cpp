// SPDX-License-Identifier: Apache-2.0
// Tests of whole runs under LoadGen itself: a model that fails in the middle of one.
#include "loadgen/run_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/test_support.h"
#include "data/harness_tensor.h"
#include "inference/harness_test_support.h"
#include "nibble/graph/model_file.h"

namespace nibble::inline loadgen {
namespace {

constexpr int kSamples = 40;

class WholeRuns : public testing::TestWithParam<Scenario> {
 protected:
  WholeRuns() {
    write_model(folder_.path() / "sums.nib", channel_sums(false, "fixed(8,0,symmetric)"), {});
    std::string list;
    std::filesystem::create_directories(folder_.path() / "val");
    for (int i = 0; i < kSamples; ++i) {
      put_sample(i, static_cast<std::int8_t>(i));
      list += std::to_string(i) + " 0\n";
    }
    folder_.put("val/val_map.txt", list);
  }

  void put_sample(int index, std::int8_t number) const {
    Tensor picture(DType::i8, Shape{2, 2, 3});
    std::ranges::fill(picture.as<std::int8_t>(), number);
    write_harness_tensor(folder_.path() / "val" / (std::to_string(index) + ".npy"), picture.view());
  }

  LoadResult run(const std::string& out) const {
    return run_load({.model = folder_.path() / "sums.nib",
                     .data = (folder_.path() / "val").string(),
                     .out = folder_.path() / out,
                     .scenario = GetParam(),
                     .settings = {"min_duration=200",
                                  is_stream(GetParam()) ? "target_latency=0.1" : "target_qps=2000"},
                     .threads = 1});
  }

  std::string log_of(const std::string& out, std::string_view log) const {
    return folder_.content_of(out + "/" + std::string(log));
  }

  TemporaryFolder folder_;
};

TEST_P(WholeRuns, EndAndSayWhether) {
  EXPECT_TRUE(run("whole").is_valid.has_value());
}

// -128 is no number of that input, which the engine alone sees: as a device that fails.
TEST_P(WholeRuns, EndWithClosedLogsWhereTheModelFails) {
  put_sample(23, -128);
  EXPECT_THAT(error_of([&] { run("broken"); }),
              testing::HasSubstr("got -128, expected -127 to 127"));
  EXPECT_EQ(log_of("broken", kAccuracyLog), "[\n]\n");
  EXPECT_THAT(log_of("broken", kDetailLog), testing::HasSubstr("loaded_qsl_set"));
}

INSTANTIATE_TEST_SUITE_P(All, WholeRuns,
                         testing::Values(Scenario::offline, Scenario::server,
                                         Scenario::single_stream, Scenario::multi_stream),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace nibble::inline loadgen
