// SPDX-License-Identifier: Apache-2.0
// The CPU and a GPU at work on one network: whichever of them computes what, the weights are the
// same; and a GPU without memory loses the run nothing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/cuda/register.h"
#include "core/test_support.h"
#include "cuda/test_memory.h"
#include "integer_step/choose_place.h"
#include "integer_step/steady_session.h"
#include "placement/integer_work.h"
#include "placement/one_hash_test_support.h"

namespace nibble::inline placement {
namespace {

struct Work {
  const char* network;
  int steps;
  std::int64_t images;
};

std::string name_of(const testing::TestParamInfo<Work>& info) {
  std::string name = info.param.network;
  std::erase(name, '-');
  return name;
}

class DevicePlacements : public testing::TestWithParam<Work> {
 protected:
  DevicePlacements() { register_cuda_backend(); }
  Network network() const { return named(GetParam().network); }
};

TEST_P(DevicePlacements, FiftyByChanceGiveOneHash) {
  expect_one_hash(network(), 50, "cuda", GetParam().steps, GetParam().images);
}

TEST_P(DevicePlacements, ResumedUnderOthersGiveOneHash) {
  expect_one_hash_resumed(network(), 6, "cuda", GetParam().images);
}

TEST_P(DevicePlacements, AutoGivesTheHashOfTheCpu) {
  const TemporaryFolder folder;
  setenv("NIBBLE_PLACEMENT", (folder.path() / "costs.json").c_str(), 1);
  const Network chosen = network();
  IntegerOptions options = options_for(chosen);
  const StepPlan plan =
      plan_step(chosen, options, {.devices = {"cpu", "cuda"}, .images = GetParam().images});
  unsetenv("NIBBLE_PLACEMENT");
  for (const PlanCandidate& each : plan.candidates) {
    choose_place(rules_of(chosen, plan.graph, each.sides, plan.devices), options);
    IntegerSession session(chosen, options);
    run_steps(session, GetParam().steps, GetParam().images);
    EXPECT_EQ(hash_of_weights(session), hash_after(chosen, Placement(make_backend("cpu")),
                                                   GetParam().steps, GetParam().images))
        << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, DevicePlacements,
                         testing::Values(Work{"convnet-8x8", 4, 32}, Work{"lenet", 3, 16},
                                         Work{"vgg-small-7", 2, 8}, Work{"resnet20", 2, 16}),
                         name_of);

TEST(DeviceFaults, ARefusalOfMemoryLeavesTheWeights) {
  register_cuda_backend();
  const Network network = named("lenet");
  for (const std::string_view place : {"cuda", "conv*=cuda"}) {
    SCOPED_TRACE(place);
    IntegerOptions options = options_for(network);
    const auto weights_on = [&](bool runs_out) {
      std::vector<std::string> told;
      SteadySession session(
          network, options, nullptr,
          [&](const std::string& what, std::int64_t) { told.push_back(what); }, 3);
      run_steps(session, 4, 16);
      std::optional<cuda::TakenMemory> others;
      if (runs_out) others.emplace();
      run_steps(session, 2, 2048);
      EXPECT_EQ(told.size(), runs_out ? 1u : 0u);
      if (runs_out && told.size() == 1) {
        EXPECT_NE(told[0].find("memory"), std::string::npos) << told[0];
      }
      others.reset();
      run_steps(session, 2, 16);
      std::vector<std::vector<std::int8_t>> weights;
      for (const TrainedTensor* each : session.tape().parameters())
        weights.push_back(each->mantissas());
      return weights;
    };
    const auto wanted = weights_on(false);
    choose_place(place, options);
    EXPECT_EQ(weights_on(false), wanted);
    EXPECT_EQ(weights_on(true), wanted);
  }
}

}  // namespace
}  // namespace nibble::inline placement
