// SPDX-License-Identifier: Apache-2.0
// The CPU and a GPU at work on one network: whichever of them computes what, the weights are the
// same; and a GPU without memory loses the run nothing.
#include <gtest/gtest.h>

#include "backend/cuda/register.h"
#include "cuda/test_memory.h"
#include "integer_step/steady_session.h"
#include "placement/test_placed_networks.h"

namespace nibble::inline placement {
namespace {

// Before the tests ask for it.
[[maybe_unused]] const bool kCudaIsKnown = (register_cuda_backend(), true);

INSTANTIATE_TEST_SUITE_P(OnAGpu, PlacedNetworks, testing::ValuesIn(four_networks("cuda")), name_of);
INSTANTIATE_TEST_SUITE_P(OnAGpu, NetworksOfAuto, testing::ValuesIn(four_networks("cuda")), name_of);

TEST(DeviceFaults, ARefusalOfMemoryLeavesTheWeights) {
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
