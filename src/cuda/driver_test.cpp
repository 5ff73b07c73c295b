// SPDX-License-Identifier: Apache-2.0
// What the files of NVIDIA's driver tell.
#include "cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/test_support.h"
#include "nibble/cuda/device.h"

namespace nibble {
namespace {

TEST(CudaDriver, IsNoneWhereThereIsNoFolder) {
  const TemporaryFolder folder;
  const cuda::Driver driver = cuda::loaded_driver(folder.path() / "absent");
  EXPECT_EQ(driver.version, "");
  EXPECT_TRUE(driver.gpus.empty());
}

TEST(CudaDriver, TellsItsVersionAndGpus) {
  const TemporaryFolder folder;
  folder.put("version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  "
             "(dvs-builder@U16)\nGCC version:  gcc version 12.3.0\n");
  folder.put("gpus/0000:1b:00.0/information",
             "Model: \t\t NVIDIA H200\nIRQ:   \t\t 93\nVideo BIOS: \t 96.00.a5\n");
  folder.put("gpus/0000:0a:00.0/information", "Model: \t\t NVIDIA A100-SXM4-40GB\n");
  const cuda::Driver driver = cuda::loaded_driver(folder.path());
  EXPECT_EQ(driver.version, "550.54.15");
  EXPECT_THAT(driver.gpus, testing::ElementsAre("NVIDIA A100-SXM4-40GB", "NVIDIA H200"));
}

TEST(CudaDriver, TellsEveryForcedSettingApart) {
  const std::string usual = cuda::forced_settings();
  std::set<std::string> all = {usual};
  for (const char* variable : {"NIBBLE_CUDA", "NIBBLE_CUDA_WIRE", "NIBBLE_CUDA_LIMITS"}) {
    const ScopedVariable forced(variable, "x");
    all.insert(cuda::forced_settings());
  }
  EXPECT_EQ(all.size(), 4U);
  EXPECT_EQ(cuda::forced_settings(), usual);
  for (int device = 0; device < cuda::device_count(); ++device)
    EXPECT_THAT(cuda::hardware_of(device),
                testing::AllOf(testing::StartsWith(cuda::identity_of(device)),
                               testing::HasSubstr(" multiprocessors")));
}

}  // namespace
}  // namespace nibble
