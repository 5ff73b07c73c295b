// SPDX-License-Identifier: Apache-2.0
// Builds and machines without a GPU answer instead of failing.
#include "nibble/cuda/device.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/test_support.h"
#include "cuda/driver.h"
#include "cuda/upload.h"

namespace nibble {
namespace {

std::optional<ErrorKind> work_on(int device) {
  return error_kind_of([&] {
    const cuda::DeviceGuard guard({.device = device});
    cuda::wait_for({.device = device});
  });
}

TEST(CudaDevice, SaysWhyThereIsNone) {
  EXPECT_EQ(cuda::why_no_device().empty(), cuda::device_count() > 0);
}

TEST(CudaDevice, CountsThoseThatTakeWork) {
  const int count = cuda::device_count();
  for (int device = 0; device < count; ++device) {
    EXPECT_EQ(work_on(device), std::nullopt) << device;
    EXPECT_GT(cuda::multiprocessors(device), 0) << device;
  }
  EXPECT_EQ(work_on(count), ErrorKind::device);
  EXPECT_LE(static_cast<std::size_t>(count), cuda::loaded_driver().gpus.size());
}

TEST(CudaDevice, TellsGpusApart) {
  const int count = cuda::device_count();
  std::set<std::string> identities;
  for (int device = 0; device < count; ++device) {
    const std::string text = cuda::identity_of(device);
    EXPECT_NE(text.find(" GPU-"), std::string::npos) << text;
    EXPECT_EQ(text.find("GPU-00000000000000000000000000000000"), std::string::npos) << text;
    identities.insert(text);
  }
  EXPECT_EQ(identities.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(error_kind_of([&] { cuda::identity_of(count); }), ErrorKind::device);
}

TEST(CudaDevice, TellsARefusalOnce) {
  const int count = cuda::device_count();
  if (count == 0) GTEST_SKIP() << "no GPU here";
  EXPECT_EQ(work_on(count), ErrorKind::device);
  EXPECT_EQ(error_of([] { cuda::check_launch("test"); }), "no error");
}

TEST(CudaDevice, RefusesWorkWithoutOne) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "there is a GPU here";
  int word = 0;
  EXPECT_EQ(error_kind_of([&] { cuda::upload(&word, &word, sizeof word, {}); }), ErrorKind::device);
  EXPECT_EQ(error_kind_of([] { cuda::wait_for({}); }), ErrorKind::device);
}

}  // namespace
}  // namespace nibble
