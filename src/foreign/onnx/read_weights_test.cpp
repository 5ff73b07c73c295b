// SPDX-License-Identifier: Apache-2.0
// Arrays of PyTorch in networks of Nibble.
#include "nibble/foreign/read_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline foreign {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

NamedTensor counted(const std::string& name, const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), 0.0F);
  return {name, std::move(tensor)};
}

Model small_model() {
  return {parse_network(R"(name = "small"
input = [1, 2, 3]
layers = [
  { op = "conv2d", name = "conv", channels = 2, kernel = 1 },
  { op = "batch_norm", name = "bn" },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 1, bias = true },
])",
                        "small"),
          {}};
}

std::vector<NamedTensor> small_arrays(const std::string& prefix, const std::string& last) {
  std::vector<NamedTensor> arrays;
  arrays.push_back(counted(prefix + "conv.weight", {2, 3, 1, 1}));
  for (const char* kind : {"weight", "bias", "running_mean", "running_var"}) {
    arrays.push_back(counted(prefix + "bn." + kind, {2}));
  }
  arrays.push_back(counted(prefix + "bn.num_batches_tracked", {}));
  arrays.push_back(counted(prefix + last + ".weight", {1, 4}));
  arrays.push_back(counted(prefix + last + ".bias", {1}));
  return arrays;
}

TEST(ReadWeights, ArraysFindTheirLayers) {
  for (const std::string prefix : {"", "module."}) {
    for (const std::string last : {"fc", "linear"}) {
      Model model = small_model();
      take_weights(model, small_arrays(prefix, last), "test");
      EXPECT_EQ(model.parameters.size(), 7U);
      // (channels, rows, columns) = (2, 1, 2) becomes (1, 2, 2).
      EXPECT_THAT(model.parameters[5].as<float>(), ElementsAre(0, 2, 1, 3));
    }
  }
}

TEST(ReadWeights, EveryMismatchIsNamed) {
  Model model = small_model();
  std::vector<NamedTensor> arrays = small_arrays("", "fc");
  arrays[0] = counted("conv.weight", {2, 3, 3, 3});
  arrays[1].name = "bm.weight";
  EXPECT_THAT(
      error_of([&] { take_weights(model, arrays, "a.npz"); }),
      AllOf(HasSubstr("a.npz for small: "), HasSubstr("conv.weight is f32 (2, 3, 3, 3), not"),
            HasSubstr("bn.weight (2,) is missing"), HasSubstr("bm.weight (2,) is left over")));
  EXPECT_TRUE(model.parameters.empty());
}

TEST(ReadWeights, OtherFilesAreRefused) {
  Model model = small_model();
  EXPECT_THAT(error_of([&] { read_weights(model, "a.pt"); }), HasSubstr("got a.pt"));
}

}  // namespace
}  // namespace nibble::inline foreign
