// SPDX-License-Identifier: Apache-2.0
#include "core/device_name.h"

#include <gtest/gtest.h>

#include "core/test_support.h"
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
  for (const char* text :
       {"", "gpu", "cpu:1", "pretend:1", "cuda:1:1", ":1", "CPU", "cuda:", "cuda:-1", "cuda:1024",
        "cuda:1x", "cuda:99999999999", "check(cpu)", "check(cpu,reference",
        "check(check(cpu,cpu),cpu)", "check(cpu,gpu)", "check(,)"}) {
    EXPECT_THROW(parse_device(text), Error) << text;
  }
}

TEST(DeviceName, TheErrorNamesAllAndWhatWasMeant) {
  EXPECT_EQ(
      error_of([] { parse_device("gpu"); }),
      "[device] name: got gpu, expected cpu, reference, cuda, cuda:N or check(cpu,reference)");
  EXPECT_EQ(error_of([] { parse_device("check(cpu,cdua)"); }),
            "[device] name: got cdua, expected cpu, reference, cuda, cuda:N or "
            "check(cpu,reference), perhaps cuda");
}

TEST(DeviceName, KindsCanBeAdded) {
  EXPECT_THROW(parse_device("npu-2"), Error);
  add_device_kind("npu-2");
  add_device_kind("npu-2");
  for (const char* text : {"npu-2", "npu-2:7", "check(npu-2:1,cpu)"})
    EXPECT_EQ(parse_device(text).to_string(), text);
  EXPECT_EQ(error_of([] { parse_device("npu-1"); }),
            "[device] name: got npu-1, expected cpu, reference, cuda, cuda:N, npu-2 or "
            "check(cpu,reference), perhaps npu-2");
  for (const char* wrong : {"", "auto", "check", "2npu", "n,u", "npu:1", "n*", "n=u", "n u"})
    EXPECT_NE(error_of([&] { add_device_kind(wrong); }), "no error") << wrong;
  EXPECT_FALSE(parse_device("cpu") == parse_device("npu-2"));
}

}  // namespace
}  // namespace nibble::inline core
