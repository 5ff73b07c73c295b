// SPDX-License-Identifier: Apache-2.0
// The real model of NVIDIA's INT4 submission, where $NIBBLE_DATA has it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "foreign/layer_directory/test_toy_layers.h"
#include "nibble/foreign/layer_directory.h"

namespace nibble::inline foreign {
namespace {

TEST(ResNet50Int4, GoesThroughAModelAndComesBackByteForByte) {
  const char* data = std::getenv("NIBBLE_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(data == nullptr ? "" : data) / "resnet50-int4/model";
  if (!is_layer_directory(folder)) GTEST_SKIP() << "no resnet50-int4 in NIBBLE_DATA";
  const Model model = read_layer_directory(folder);
  EXPECT_EQ(model.network.name, "resnet50-int4");
  EXPECT_EQ(model.network.nodes.size(), 194U);
  std::int64_t products = 0;
  for (const std::int64_t each : multiply_accumulates(model.network)) products += each;
  EXPECT_EQ(products, 4'089'184'256);
  const TemporaryFolder out;
  write_layer_directory(model, out.path() / "copy");
  const LayerFiles ours = files_below(out.path() / "copy");
  EXPECT_EQ(ours.size(), 346U);
  EXPECT_TRUE(ours == files_below(folder));
}

}  // namespace
}  // namespace nibble::inline foreign
