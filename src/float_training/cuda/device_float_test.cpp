// SPDX-License-Identifier: Apache-2.0
// Float training's products on a GPU against those of the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/test_support.h"
#include "cuda/test_memory.h"
#include "float_training/cuda/cuda_float_device.h"
#include "float_training/cuda/register.h"
#include "float_training/float_device_test_support.h"
#include "nibble/float_training/train.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

TEST(CudaFloatDevice, ProductsOfIntegersAreExactInEveryTypeOverEveryWire) {
  const auto device = make_cuda_float_device("cuda");
  for (std::uint32_t number = 0; number < 60; ++number) {
    const ProductType type = kTypes[number % 4];
    const WireFormat wire = kWires[number / 4 % 4];
    expect_exact_products(*device, convolution_by_chance(number), type, wire);
  }
  for (const ProductType type : kTypes) {
    for (const ProductCase& layer : {linear(800, 500, 64), linear(500, 10, 64), linear(1, 1, 1),
                                     linear(3, 130, 200), linear(5000, 3, 2)})
      expect_exact_products(*device, layer, type, WireFormat::fp32);
    // One channel a group.
    expect_exact_products(
        *device,
        convolution({11, 14, 24},
                    {.channels = 24, .padding = {1, 1}, .groups = 24, .has_bias = true}, 3),
        type, WireFormat::fp32);
  }
}

// After 16 parcels up a place is used again: its memory on the host is whole pages, on the GPU not.
TEST(CudaFloatDevice, ALargerParcelHasRoomWhereASmallerOneLay) {
  const auto device = make_cuda_float_device("cuda");
  for (const std::int64_t size : {1, 1, 1, 1, 9, 9, 9, 9, 20, 31})
    expect_exact_products(*device, linear(size, size, size), ProductType::fp32, WireFormat::fp32);
}

TEST(CudaFloatDevice, ResNet20sLayersAreWithinAHundredThousandth) {
  const auto device = make_cuda_float_device("cuda");
  for (const ProductCase& layer : convolutions_of_resnet20(32)) {
    SCOPED_TRACE(layer.text());
    const ProductNumbers numbers = numbers_for(layer, 0);
    for (const ProductType type : kTypes) {
      // The sums of tensor cores are cut to fewer bits than fp32 has.
      const double most = type == ProductType::fp32 ? 1e-5 : 1e-4;
      const ProductResults got = on_device(*device, layer, numbers, type, WireFormat::fp32);
      const ProductResults wanted = on_cpu(layer, numbers, type, WireFormat::fp32);
      EXPECT_LT(share_off(got.output, wanted.output), most) << name_of(type);
      EXPECT_LT(share_off(got.input_error, wanted.input_error), most) << name_of(type);
      EXPECT_LT(share_off(got.gradients, wanted.gradients), most) << name_of(type);
    }
  }
}

TEST(CudaFloatDevice, ConvolutionsByChanceAreWithinAHundredThousandth) {
  const auto device = make_cuda_float_device("cuda");
  for (std::uint32_t number = 100; number < 160; ++number) {
    const ProductCase layer = convolution_by_chance(number);
    SCOPED_TRACE(layer.text());
    const ProductNumbers numbers = numbers_for(layer, 0);
    const ProductResults got =
        on_device(*device, layer, numbers, ProductType::fp32, WireFormat::fp32);
    const ProductResults wanted = on_cpu(layer, numbers, ProductType::fp32, WireFormat::fp32);
    EXPECT_LT(share_off(got.output, wanted.output), 1e-5);
    EXPECT_LT(share_off(got.input_error, wanted.input_error), 1e-5);
    EXPECT_LT(share_off(got.gradients, wanted.gradients), 1e-5);
  }
}

TEST(CudaFloatDevice, WhatIsNotFiniteIsNotHidden) {
  expect_infinities_seen(*make_cuda_float_device("cuda"));
}

class CudaTraining : public testing::Test {
 protected:
  CudaTraining() { register_cuda_float_device(); }

  TrainResult run(std::string_view place, WireFormat wire, ProductType type) {
    Recipe recipe;
    recipe.network = load_network("convnet-8x8");
    recipe.data = "digits";
    recipe.epochs = 6;
    recipe.batch = 48;
    recipe.optimizer = {.kind = OptimizerKind::adam, .rate = 0.003};
    recipe.place = place;
    recipe.wire = wire;
    recipe.compute = type;
    TrainOptions options;
    options.folder = folder_.path() / "run";
    options.mode = RunFolderMode::overwrite;
    options.progress = ProgressStyle::silent;
    options.profile = profile();
    return train(recipe, options);
  }
  std::filesystem::path profile() const { return folder_.path() / "step.json"; }

 private:
  TemporaryFolder folder_;
};

TEST_F(CudaTraining, LearnsAsWellAndTwiceTheSame) {
  constexpr double kMargin = 0.015;  // of the test pictures: 5 of 360
  const double wanted = run("", WireFormat::fp32, ProductType::fp32).test->classes->top1();
  for (const auto& [wire, type] : {std::pair{WireFormat::fp32, ProductType::fp32},
                                   {WireFormat::fp32, ProductType::tf32},
                                   {WireFormat::fp16, ProductType::fp16},
                                   {WireFormat::bf16, ProductType::bf16},
                                   {WireFormat::int8, ProductType::bf16}}) {
    SCOPED_TRACE(std::string(name_of(wire)) + " " + std::string(name_of(type)));
    const TrainResult first = run("cuda", wire, type);
    EXPECT_GE(first.test->classes->top1(), wanted - kMargin);
    EXPECT_EQ(run("cuda", wire, type).weights_hash, first.weights_hash);
  }
}

TEST_F(CudaTraining, ATraceHasTheGpuAndEveryCopy) {
  run("conv*=cuda", WireFormat::int8, ProductType::fp32);
  std::ostringstream trace;
  trace << std::ifstream(profile()).rdbuf();
  for (const char* name :
       {"GPU", "GPU copies up", "GPU copies down", "conv2 forward", "conv2 weight gradient",
        "unpack conv2 input", "send conv2.input", "wait for conv2.value", "fc backward"})
    EXPECT_THAT(trace.str(), testing::HasSubstr('"' + std::string(name) + '"')) << name;
}

TEST(CudaFloatFaults, ARefusalOfMemoryIsToldInALine) {
  const auto device = make_cuda_float_device("cuda");
  const ProductCase layer = linear(8192, 8192, 4);
  const cuda::TakenMemory others;
  const std::string told = error_of([&] {
    on_device(*device, layer, numbers_for(layer, 7), ProductType::fp32, WireFormat::fp32);
  });
  EXPECT_THAT(told, testing::HasSubstr("MiB more for products of layers"));
  EXPECT_EQ(told.find('\n'), std::string::npos);
}

TEST(CudaFloatFaults, AGpuThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of([] { make_cuda_float_device("cuda:63"); }), testing::HasSubstr("cuda:63"));
}

}  // namespace
}  // namespace nibble::inline float_training
