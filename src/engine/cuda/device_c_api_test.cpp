// SPDX-License-Identifier: Apache-2.0
// Engines on a GPU from C, with memory of the host and of the GPU.
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "engine/engine_test_support.h"
#include "nibble.h"
#include "nibble/graph/model_file.h"

extern "C" const char* check_c_memory(const char* device, const char* path);

namespace nibble::inline engine {
namespace {

TEST(DeviceCApi, GivesMemoryOfTheGpu) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "made.nib").string();
  NetworkMaker maker({4}, integers_format("int8"));
  maker.add(ArgMax{});
  write_model(path, maker.model(), {});
  nibble_use_cuda();
  EXPECT_STREQ(check_c_memory("cuda", path.c_str()), nullptr) << nibble_last_error();
}

}  // namespace
}  // namespace nibble::inline engine
