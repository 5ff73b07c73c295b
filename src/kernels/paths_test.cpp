// SPDX-License-Identifier: Apache-2.0
// Tests of the choice among the paths of an operation.
#include "kernels/paths.h"

#include <gtest/gtest.h>

#include <vector>

namespace nibble::inline kernels {
namespace {

constexpr KernelPath<int> kPaths[] = {{Isa::reference, 0}, {Isa::avx2, 1}, {Isa::avx512vnni, 2}};

TEST(KernelPaths, TheLastOneThatTheChosenOneAllowsIsTaken) {
  EXPECT_EQ(best_path(kPaths, Isa::reference).kernel, 0);
  EXPECT_EQ(best_path(kPaths, Isa::portable).kernel, 0);
  EXPECT_EQ(best_path(kPaths, Isa::avx2).kernel, 1);
  EXPECT_EQ(best_path(kPaths, Isa::avx512).kernel, 1);
  EXPECT_EQ(best_path(kPaths, Isa::avx512vnni).kernel, 2);
  EXPECT_EQ(best_path(kPaths, Isa::amx).kernel, 2);
}

TEST(KernelPaths, TheFirstOneRunsEverywhere) {
  constexpr KernelPath<int> kOne[] = {{Isa::avx2, 7}};
  EXPECT_EQ(best_path(kOne, Isa::reference).kernel, 7);
}

TEST(KernelPaths, OfThisMachineAreThoseItSupports) {
  std::vector<Isa> expected;
  for (const Isa isa : supported_isas()) {
    if (best_path(kPaths, isa).isa == isa) expected.push_back(isa);
  }
  std::vector<Isa> got;
  for (const auto& [isa, kernel] : supported_paths(kPaths)) got.push_back(isa);
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace nibble::inline kernels
