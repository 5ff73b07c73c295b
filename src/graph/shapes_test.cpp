// SPDX-License-Identifier: Apache-2.0
// Tests of shape inference: the rule of every operation, and sizes that must not overflow.
#include "graph/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/graph_test_support.h"
#include "nibble/core/limits.h"

namespace nibble::inline graph {
namespace {

using testing::HasSubstr;

TEST(Shapes, WindowsCountTheirPositions) {
  EXPECT_EQ(shape_after({28, 28, 1}, Conv2d{.channels = 16}), (Shape{26, 26, 16}));
  EXPECT_EQ(shape_after({28, 30, 1}, Conv2d{.channels = 2, .padding = {1, 2}}), (Shape{28, 32, 2}));
  EXPECT_EQ(shape_after({9, 9, 4}, Conv2d{.channels = 4, .stride = {2, 3}, .groups = 4}),
            (Shape{4, 3, 4}));
  EXPECT_EQ(shape_after({9, 9, 1}, Conv2d{.channels = 1, .dilation = {4, 2}}), (Shape{1, 5, 1}));
  EXPECT_EQ(
      shape_after({224, 224, 3},
                  Conv2d{.channels = 64, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}}),
      (Shape{112, 112, 64}));
  EXPECT_EQ(shape_after({11, 11, 16}, MaxPool{}), (Shape{5, 5, 16}));
  EXPECT_EQ(
      shape_after({112, 112, 64}, MaxPool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
      (Shape{56, 56, 64}));
  EXPECT_EQ(shape_after({8, 8, 2}, AveragePool{.kernel = {8, 1}, .stride = {8, 1}}),
            (Shape{1, 8, 2}));
}

TEST(Shapes, TheOthersFollowTheirInput) {
  for (const Op& op : {Op(Bias{}), Op(Relu{}), Op(Relu6{}), Op(BatchNorm{}), Op(Dropout{})}) {
    EXPECT_EQ(shape_after({5, 6, 7}, op), (Shape{5, 6, 7})) << name_of(op);
    EXPECT_EQ(shape_after({5}, op), (Shape{5})) << name_of(op);
  }
  EXPECT_EQ(shape_after({5, 6, 7}, GlobalAveragePool{}), (Shape{7}));
  EXPECT_EQ(shape_after({5, 6, 7}, Flatten{}), (Shape{210}));
  EXPECT_EQ(shape_after({210}, Linear{.features = 3}), (Shape{3}));
  EXPECT_EQ(shape_after({3}, SoftmaxCrossEntropy{.smoothing = 0.1F}), Shape{});
  EXPECT_EQ(shape_after({3}, SquaredError{}), Shape{});
}

TEST(Shapes, SlicesAndPadsGoAlongEachAxis) {
  EXPECT_EQ(shape_after({32, 31, 16}, Slice{{0, 0, 0}, {0, 0, 0}, {2, 2, 1}}), (Shape{16, 16, 16}));
  EXPECT_EQ(shape_after({10}, Slice{{2}, {9}, {3}}), (Shape{3}));
  EXPECT_EQ(shape_after({16, 16, 16}, Pad{{0, 1, 8}, {0, 2, 8}}), (Shape{16, 19, 32}));
  EXPECT_THAT(error_after({10}, Slice{{2}, {2}, {1}}), HasSubstr("axis 0: got 2 to 2"));
  EXPECT_THAT(error_after({10}, Slice{{0}, {11}, {1}}), HasSubstr("axis 0: got 0 to 11"));
  EXPECT_THAT(error_after({10}, Slice{{-1}, {0}, {1}}), HasSubstr("begin: got -1"));
  EXPECT_THAT(error_after({10}, Slice{{0}, {-3}, {1}}), HasSubstr("axis 0: got 0 to -3"));
  EXPECT_THAT(error_after({10}, Slice{{0}, {0}, {0}}), HasSubstr("step: got 0"));
  EXPECT_THAT(error_after({10}, Slice{{0, 0}, {0}, {1}}), HasSubstr("begin: got 2 numbers"));
  EXPECT_THAT(error_after({10}, Pad{{-1}, {0}}), HasSubstr("before: got -1"));
}

TEST(Shapes, SeveralInputsMustFit) {
  Network network = chain({4, 4, 2}, {Conv2d{.channels = 3, .padding = {1, 1}}});
  network.nodes.push_back({.name = "join", .op = Concat{}, .inputs = {0, 1, 0}});
  EXPECT_EQ(infer_shapes(network).back(), (Shape{4, 4, 7}));
  network.nodes.back().op = Add{};
  EXPECT_EQ(error_of([&] { (void)infer_shapes(network); }),
            "[network] node 'join' (add): input 2: got (4, 4, 3), expected (4, 4, 2) as the "
            "first");
  std::get<Conv2d>(network.nodes[1].op).channels = 2;
  EXPECT_EQ(infer_shapes(network).back(), (Shape{4, 4, 2}));
  std::get<Conv2d>(network.nodes[1].op).padding = {0, 0};
  network.nodes.back().op = Concat{};
  EXPECT_THAT(error_of([&] { (void)infer_shapes(network); }),
              HasSubstr("input 2: got (2, 2, 2), expected (4, 4, 2) but for the last extent"));
}

TEST(Shapes, InputsHaveOneOrThreeExtents) {
  EXPECT_THAT(error_of([] {
                (void)infer_shapes(chain({2, 2}, {}));
              }),
              HasSubstr("node 'input' (input): shape: got (2, 2)"));
  EXPECT_THAT(error_of([] { (void)infer_shapes(chain({0}, {})); }), HasSubstr("extent: got 0"));
  Network network = chain({2, 2, 3}, {});
  Input& input = std::get<Input>(network.nodes[0].op);
  input.mean = {0, 0};
  EXPECT_THAT(error_of([&] { (void)infer_shapes(network); }), HasSubstr("mean: got 2 numbers"));
  input.mean = {0, 0, INFINITY};
  EXPECT_THAT(error_of([&] { (void)infer_shapes(network); }), HasSubstr("mean: got inf"));
  input.mean = {};
  input.deviation = {1, 0, 1};
  EXPECT_THAT(error_of([&] { (void)infer_shapes(network); }),
              HasSubstr("deviation: got 0, expected above 0"));
}

TEST(Shapes, WrongNumbersNameNodeAndKey) {
  EXPECT_EQ(error_after({4, 4, 3}, Conv2d{.channels = 4, .groups = 2}),
            "[network] node 'n1' (conv2d): groups: got 2, expected a divisor of the 3 channels "
            "that enter");
  EXPECT_THAT(error_after({4, 4, 4}, Conv2d{.channels = 3, .groups = 2}),
              HasSubstr("a divisor of its 3 channels"));
  EXPECT_THAT(error_after({4, 4, 3}, Conv2d{}), HasSubstr("channels: got 0"));
  EXPECT_THAT(error_after({4, 4, 3}, Conv2d{.channels = 1, .kernel = {0, 3}}),
              HasSubstr("kernel y: got 0"));
  EXPECT_THAT(error_after({4, 4, 3}, Conv2d{.channels = 1, .stride = {1, 0}}),
              HasSubstr("stride x: got 0"));
  EXPECT_THAT(error_after({4, 4, 3}, Conv2d{.channels = 1, .padding = {-1, 0}}),
              HasSubstr("padding y: got -1"));
  EXPECT_THAT(error_after({4, 4, 3}, Conv2d{.channels = 1, .kernel = {5, 5}}),
              HasSubstr("window: got 5, expected at most the padded extent, 4 of (4, 4, 3)"));
  EXPECT_THAT(error_after({4, 4, 3}, MaxPool{.padding = {2, 0}}), HasSubstr("padding: got (2, 0)"));
  EXPECT_THAT(error_after({4, 4, 3}, MaxPool{.padding = {-1, 0}}), HasSubstr("padding y: got -1"));
  EXPECT_THAT(error_after({4, 4, 3}, Linear{.features = 2}),
              HasSubstr("input: got (4, 4, 3), expected a vector"));
  EXPECT_THAT(error_after({4}, Conv2d{.channels = 2}), HasSubstr("expected (height, width, "));
  EXPECT_THAT(error_after({4}, Dropout{.share = 1}), HasSubstr("share: got 1"));
  EXPECT_THAT(error_after({4}, Dropout{.share = NAN}), HasSubstr("share: got nan"));
  EXPECT_THAT(error_after({4}, BatchNorm{.epsilon = 0}), HasSubstr("epsilon: got 0"));
  EXPECT_THAT(error_after({4}, BatchNorm{.momentum = 2}), HasSubstr("momentum: got 2"));
  EXPECT_THAT(error_after({4}, SoftmaxCrossEntropy{.smoothing = -1}), HasSubstr("smoothing"));
}

TEST(Shapes, HostileSizesAreRefusedBeforeTheyAreMultiplied) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(error_after({4, 4, 1}, Conv2d{.channels = most}), HasSubstr("channels: got 92233"));
  EXPECT_THAT(error_after({4, 4, 1}, Conv2d{.channels = 1, .kernel = {most, most}}),
              HasSubstr("kernel y"));
  EXPECT_THAT(error_after({4, 4, 1}, Conv2d{.channels = 1, .padding = {most, 0}}),
              HasSubstr("padding y"));
  EXPECT_THAT(error_of([] {
                (void)infer_shapes(chain({65536, 65536, 65536}, {}));
              }),
              HasSubstr("value: got 65536 x 65536 x 65536 numbers"));

  const LimitsScope all(parse_limits("geometry=2147483647,values=64G,macs=1048576T"));
  EXPECT_THAT(error_after({4, 4, 1}, Conv2d{.channels = 1, .padding = {kMaxNumber, kMaxNumber}}),
              HasSubstr("value: got 4294967296 x 4294967296 x 1 numbers"));
  EXPECT_THAT(error_after({4, 4, 1}, Conv2d{.channels = kMaxNumber,
                                            .kernel = {3, 3},
                                            .padding = {kMaxNumber, kMaxNumber}}),
              HasSubstr("limit 'values'"));
  EXPECT_THAT(
      error_after({4, 4, 1},
                  Conv2d{.channels = 1, .kernel = {kMaxNumber, 1}, .dilation = {kMaxNumber, 1}}),
      HasSubstr("window: got 4611686"));
  EXPECT_THAT(error_after({kMaxNumber}, Linear{.features = kMaxNumber}),
              HasSubstr("weight: got too many elements"));
  EXPECT_THAT(error_after({4}, Pad{{most}, {most}}), HasSubstr("before: got 92233"));
}

TEST(Shapes, GeometryIsBounded) {
  const LimitsScope scope(parse_limits("geometry=9"));
  const auto conv = [](Extent2 kernel, Extent2 stride, Extent2 padding, Extent2 dilation) {
    return error_after({30, 30, 1}, Conv2d{.channels = 1,
                                           .kernel = kernel,
                                           .stride = stride,
                                           .padding = padding,
                                           .dilation = dilation});
  };
  EXPECT_EQ(shape_after({30, 30, 1}, Conv2d{.channels = 1,
                                            .kernel = {1, 30},
                                            .stride = {9, 9},
                                            .padding = {9, 9},
                                            .dilation = {9, 1}}),
            (Shape{6, 3, 1}));
  EXPECT_EQ(conv({31, 1}, {1, 1}, {9, 9}, {1, 1}),
            "[network] node 'n1' (conv2d): kernel y: got 31, expected at most 30 (limit "
            "'geometry': --limits geometry=… raises it)");
  EXPECT_THAT(conv({1, 1}, {1, 10}, {0, 0}, {1, 1}), HasSubstr("stride x: got 10, expected at mo"));
  EXPECT_THAT(conv({1, 1}, {1, 1}, {10, 0}, {1, 1}), HasSubstr("padding y: got 10, expected at m"));
  EXPECT_THAT(conv({1, 1}, {1, 1}, {0, 0}, {1, 10}), HasSubstr("dilation x: got 10, expected at "));
  for (const Op& pool : {Op(MaxPool{.stride = {10, 1}}), Op(AveragePool{.stride = {10, 1}}),
                         Op(SumPool{.stride = {10, 1}})}) {
    EXPECT_THAT(error_after({30, 30, 1}, pool), HasSubstr("stride y: got 10")) << name_of(pool);
  }
  EXPECT_THAT(error_after({30}, Pad{{0}, {10}}), HasSubstr("after: got 10, expected at most 9"));
}

TEST(Shapes, WorkOfAllLayersIsBounded) {
  const LimitsScope scope(parse_limits("macs=800,memory=400"));
  // 5·5·9 products, then as many numbers.
  const std::vector<Op> ops = {Conv2d{.channels = 1}, Relu{}, Relu{},
                               MaxPool{{7, 7}, {1, 1}, {3, 3}}};
  EXPECT_NO_THROW((void)infer_shapes(chain({7, 7, 1}, {ops[0], ops[1], ops[2]})));
  EXPECT_EQ(error_of([&] {
              (void)infer_shapes(chain({7, 7, 1}, ops));
            }),
            "[network] node 'n4' (max_pool): multiply-accumulates, with all before it: got 900, "
            "expected at most 800 (limit 'macs': --limits macs=… raises it)");
  EXPECT_THAT(error_after({10}, Linear{.features = 11}),
              HasSubstr("weights, with all before it: got 440 bytes as fp32, expected at most 400 "
                        "(limit 'memory'"));
}

TEST(Shapes, NodesAndNamesAreBounded) {
  const LimitsScope scope(parse_limits("nodes=3,name=5"));
  Network network = chain({3}, {Relu{}, Relu{}});
  network.name = "short";
  EXPECT_NO_THROW((void)infer_shapes(network));
  network.name = "longer";
  EXPECT_THAT(error_of([&] { (void)infer_shapes(network); }),
              HasSubstr("name: got 6 bytes, expected at most 5 (limit 'name'"));
  network.name.clear();
  network.nodes[1].name = "longer";
  EXPECT_THAT(error_of([&] { (void)infer_shapes(network); }), HasSubstr("limit 'name'"));
  EXPECT_THAT(error_of([&] {
                (void)infer_shapes(chain({3}, {Relu{}, Relu{}, Relu{}}));
              }),
              HasSubstr("nodes: got 4, expected at most 3 (limit 'nodes'"));
}

}  // namespace
}  // namespace nibble::inline graph
