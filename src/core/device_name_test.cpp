// SPDX-License-Identifier: Apache-2.0
#include "core/device_name.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

TEST(DeviceName, ReadsAllThatItWrites) {
  for (const char* text : {"cpu", "reference", "cuda", "cuda:1", "cuda:1023",
                           "check(cpu,reference)", "check(cuda:2,cpu)"}) {
    EXPECT_EQ(parse_device(text).to_string(), text);
  }
  EXPECT_EQ(parse_device("cuda:0"), parse_device("cuda"));
  EXPECT_EQ(parse_device("check(cuda:3,cpu)").both[0].index, 3);
}

TEST(DeviceName, RefusesTheRest) {
  for (const char* text : {"", "gpu", "cpu:1", "CPU", "cuda:", "cuda:-1", "cuda:1024", "cuda:1x",
                           "cuda:99999999999", "check(cpu)", "check(cpu,reference",
                           "check(check(cpu,cpu),cpu)", "check(cpu,gpu)", "check(,)"}) {
    EXPECT_THROW(parse_device(text), Error) << text;
  }
}

}  // namespace
}  // namespace nibble::inline core
