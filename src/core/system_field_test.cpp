// SPDX-License-Identifier: Apache-2.0
#include "core/system_field.h"

#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline core {
namespace {

TEST(SystemField, IsTheFirstOfItsKeyWithoutBlanksAndQuotes) {
  const TemporaryFolder folder;
  folder.put("info",
             "no field\nmodel\t: 7\nmodel name\t: A: processor \nmodel name : "
             "B\n\nNAME=\"Debian\"\nlast:");
  const std::filesystem::path path = folder.path() / "info";
  EXPECT_EQ(system_field(path, "model name", ':'), "A: processor");
  EXPECT_EQ(system_field(path, "model", ':'), "7");
  EXPECT_EQ(system_field(path, "NAME", '='), "Debian");
  EXPECT_EQ(system_field(path, "last", ':'), "");
  EXPECT_EQ(system_field(path, "other", ':'), "");
  EXPECT_EQ(system_field(folder.path() / "absent", "model", ':'), "");
}

TEST(SystemField, OfTheProcessorIsItsName) {
  const std::string told = system_field("/proc/cpuinfo", "model name", ':');
  if (told.empty()) {
    EXPECT_NE(processor_name(), "");
  } else {
    EXPECT_EQ(processor_name(), told);
  }
}

}  // namespace
}  // namespace nibble::inline core
