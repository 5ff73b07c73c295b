// SPDX-License-Identifier: Apache-2.0
// One kernel for all products: a block computes a tile of the result over a stretch of the depth.
// Where tiles are few, the depth is cut into planes of partial sums, which are then added up in
// their order.
#include <algorithm>

#include "cuda/errors.h"
#include "float_training/cuda/float_products.h"
#include "float_training/cuda/product_sides.h"
#include "float_training/cuda/tile_maths.cuh"

namespace nibble::cuda {
namespace {

constexpr std::int32_t kWantedBlocks = 512;
constexpr std::int32_t kLeastStretch = 16;  // tiles of depth
constexpr int kPlainThreads = 256;

constexpr std::int32_t tiles_of(std::int32_t count, std::int32_t size) {
  return (count + size - 1) / size;
}

// By the shapes alone, so that the order of sums is no matter of the GPU.
struct Cut {
  std::int32_t planes = 1;
  std::int32_t stretch = 0;  // depths of a plane
};
Cut cut_depth(std::int32_t rows, std::int32_t columns, std::int32_t depths, std::int32_t groups) {
  const std::int64_t tiles =
      static_cast<std::int64_t>(tiles_of(rows, kTileRows)) * tiles_of(columns, kTileRows) * groups;
  const std::int32_t steps = std::max(tiles_of(depths, kTileDepth), 1);
  const auto wanted = static_cast<std::int32_t>(std::max<std::int64_t>(kWantedBlocks / tiles, 1));
  const std::int32_t planes = std::clamp(steps / kLeastStretch, 1, wanted);
  const std::int32_t stretch = tiles_of(steps, planes);
  return {tiles_of(steps, stretch), stretch * kTileDepth};
}

template <class LeftSide, class RightSide>
struct ProductJob {
  LeftSide left;
  RightSide right;
  const float* bias;         // of every column, or null
  float* sums;               // planes, one behind the other
  std::int64_t plane_size;   // the whole result
  std::int64_t row_length;   // of the result
  std::int64_t group_start;  // a group's columns, or rows, come so much behind those before
  std::int32_t groups;
  std::int32_t stretch;
};

// A thread's part of bringing tiles of a side: always the same rows, or always the same depths.
template <class Side, class Maths>
class TileLoader {
 public:
  __device__ TileLoader(const Side& side, std::int32_t first_row) : side_(side) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      row_[i] = Side::kDepthsLieTogether ? thread / kTileDepth + i * kApart : thread % kTileRows;
      is_row_[i] = first_row + row_[i] < side.rows();
      place_[i] = side.row(is_row_[i] ? first_row + row_[i] : 0);
    }
    depth_ = Side::kDepthsLieTogether ? thread % kTileDepth : thread / kTileRows;
  }

  __device__ void load(Tile<typename Maths::Element>& tile, std::int32_t begin, std::int32_t end,
                       std::int32_t group) const {
#pragma unroll
    for (int i = 0; i < kDepths; ++i) {
      const std::int32_t depth = depth_ + i * kApart;
      const bool is_depth = begin + depth < end;
      const typename Side::Depth place = side_.depth(is_depth ? begin + depth : 0);
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        const bool is_there = is_depth && is_row_[j];
        tile[depth][row_[j]] = Maths::element(is_there ? side_.at(place_[j], place, group) : 0.0F);
      }
    }
  }

 private:
  static constexpr int kRows = Side::kDepthsLieTogether ? kTileRows * kTileDepth / kTileThreads : 1;
  static constexpr int kDepths =
      Side::kDepthsLieTogether ? 1 : kTileRows * kTileDepth / kTileThreads;
  static constexpr int kApart =
      Side::kDepthsLieTogether ? kTileThreads / kTileDepth : kTileThreads / kTileRows;

  const Side& side_;
  typename Side::Row place_[kRows];
  std::int32_t row_[kRows];
  bool is_row_[kRows];
  std::int32_t depth_;
};

template <class Maths, class LeftSide, class RightSide>
__global__ void __launch_bounds__(kTileThreads)
    product_kernel(const __grid_constant__ ProductJob<LeftSide, RightSide> job) {
  using Element = typename Maths::Element;
  __shared__ alignas(128) Tile<Element> left_tile;
  __shared__ alignas(128) Tile<Element> right_tile;
  __shared__ alignas(128) SumTile sum_tile;
  const auto first_row = static_cast<std::int32_t>(blockIdx.x) * kTileRows;
  const auto first_column = static_cast<std::int32_t>(blockIdx.y) * kTileRows;
  const std::int32_t group = static_cast<std::int32_t>(blockIdx.z) % job.groups;
  const std::int32_t plane = static_cast<std::int32_t>(blockIdx.z) / job.groups;
  const std::int32_t end = min((plane + 1) * job.stretch, job.left.depths());
  const TileLoader<LeftSide, Maths> left(job.left, first_row);
  const TileLoader<RightSide, Maths> right(job.right, first_column);
  Maths maths;
  maths.clear();
  for (std::int32_t begin = plane * job.stretch; begin < end; begin += kTileDepth) {
    left.load(left_tile, begin, end, group);
    right.load(right_tile, begin, end, group);
    __syncthreads();
    maths.add(left_tile, right_tile);
    __syncthreads();
  }
  maths.store(sum_tile);
  __syncthreads();
  float* sums = job.sums + plane * job.plane_size + group * job.group_start;
  for (int i = static_cast<int>(threadIdx.x); i < kTileRows * kTileRows; i += kTileThreads) {
    const std::int32_t row = first_row + i / kTileRows;
    const std::int32_t column = first_column + i % kTileRows;
    if (row >= job.left.rows() || column >= job.right.rows()) continue;
    float sum = sum_tile[i / kTileRows][i % kTileRows];
    if (job.bias != nullptr && plane == 0) sum += job.bias[group * job.right.rows() + column];
    sums[row * job.row_length + column] = sum;
  }
}

__global__ void add_planes_kernel(const float* planes, std::int32_t count, std::int64_t size,
                                  float* sums) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += threads) {
    float sum = planes[i];
    for (std::int32_t plane = 1; plane < count; ++plane) sum += planes[plane * size + i];
    sums[i] = sum;
  }
}

cudaStream_t stream_of(const Place& place) {
  return static_cast<cudaStream_t>(place.stream);
}

unsigned int plain_blocks(std::int64_t count) {
  constexpr std::int64_t kMostBlocks = 1024;
  return static_cast<unsigned int>(
      std::clamp<std::int64_t>((count + kPlainThreads - 1) / kPlainThreads, 1, kMostBlocks));
}

void add_planes(const float* planes, std::int32_t count, std::int64_t size, float* sums,
                const Place& place) {
  add_planes_kernel<<<plain_blocks(size), kPlainThreads, 0, stream_of(place)>>>(planes, count, size,
                                                                                sums);
  check_launch("place");
}

// Where a group's part of the result lies.
enum class GroupsAre : std::uint8_t { columns, rows };

template <class LeftSide, class RightSide>
struct ProductPlan {
  LeftSide left;
  RightSide right;
  std::int32_t groups;
  GroupsAre groups_are;
  Cut cut = cut_depth(left.rows(), right.rows(), left.depths(), groups);
  std::int64_t group_size = static_cast<std::int64_t>(left.rows()) * right.rows();

  std::size_t workspace() const {
    return cut.planes == 1 ? 0 : sizeof(float) * group_size * groups * cut.planes;
  }

  template <class Maths>
  void launch(const ProductJob<LeftSide, RightSide>& job, const Place& place) const {
    const dim3 grid(static_cast<unsigned int>(tiles_of(left.rows(), kTileRows)),
                    static_cast<unsigned int>(tiles_of(right.rows(), kTileRows)),
                    static_cast<unsigned int>(groups * cut.planes));
    product_kernel<Maths, LeftSide, RightSide><<<grid, kTileThreads, 0, stream_of(place)>>>(job);
    check_launch("place");
  }

  void run(ProductType type, const float* bias, float* result, void* workspace,
           const Place& place) const {
    const DeviceGuard guard(place);
    const bool has_groups_in_columns = groups_are == GroupsAre::columns;
    const ProductJob<LeftSide, RightSide> job{
        .left = left,
        .right = right,
        .bias = bias,
        .sums = cut.planes == 1 ? result : static_cast<float*>(workspace),
        .plane_size = group_size * groups,
        .row_length =
            static_cast<std::int64_t>(right.rows()) * (has_groups_in_columns ? groups : 1),
        .group_start = has_groups_in_columns ? right.rows() : group_size,
        .groups = groups,
        .stretch = cut.stretch};
    switch (type) {
      case ProductType::fp32:
        launch<PlainMaths>(job, place);
        break;
      case ProductType::tf32:
        launch<Tf32Maths>(job, place);
        break;
      case ProductType::fp16:
        launch<Fp16Maths>(job, place);
        break;
      case ProductType::bf16:
        launch<Bf16Maths>(job, place);
        break;
    }
    if (cut.planes > 1) add_planes(job.sums, cut.planes, job.plane_size, result, place);
  }
};

auto forward_plan(const FloatProductShape& shape, const float* input, const float* weight) {
  return ProductPlan<InputWindows, WeightRows>{
      {shape, input}, {shape, weight}, shape.groups, GroupsAre::columns};
}
auto input_error_plan(const FloatProductShape& shape, const float* error, const float* weight) {
  return ProductPlan<ErrorWindows, WeightColumns>{
      {shape, error}, {shape, weight}, shape.groups, GroupsAre::columns};
}
auto weight_gradient_plan(const FloatProductShape& shape, const float* input, const float* error) {
  return ProductPlan<ErrorChannels, TurnedWindows>{
      {shape, error}, {{shape, input}}, shape.groups, GroupsAre::rows};
}

// A plane of sums for every stretch of pixels.
constexpr std::int32_t kPixelStretch = 1024;
constexpr int kChannelsABlock = 32;

// 32 channels by 8 pixels at a time.
__global__ void channel_sums_kernel(const float* error, std::int32_t pixels, std::int32_t channels,
                                    float* sums) {
  constexpr int kLines = kPlainThreads / kChannelsABlock;
  __shared__ float lines[kLines][kChannelsABlock];
  const int line = static_cast<int>(threadIdx.x) / kChannelsABlock;
  const int lane = static_cast<int>(threadIdx.x) % kChannelsABlock;
  const std::int32_t channel = static_cast<std::int32_t>(blockIdx.x) * kChannelsABlock + lane;
  const std::int32_t begin = static_cast<std::int32_t>(blockIdx.y) * kPixelStretch;
  const std::int32_t end = min(begin + kPixelStretch, pixels);
  float sum = 0.0F;
  if (channel < channels) {
    for (std::int32_t pixel = begin + line; pixel < end; pixel += kLines)
      sum += error[static_cast<std::int64_t>(pixel) * channels + channel];
  }
  lines[line][lane] = sum;
  __syncthreads();
  if (line != 0 || channel >= channels) return;
  for (int i = 1; i < kLines; ++i) sum += lines[i][lane];
  sums[static_cast<std::int64_t>(blockIdx.y) * channels + channel] = sum;
}

__global__ void mark_kernel(const float* values, std::int64_t count, float* scale) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    if (!isfinite(values[i])) *scale = __int_as_float(0x7fc00000);  // whoever finds one
  }
}

}  // namespace

std::size_t forward_workspace(const FloatProductShape& shape) {
  return forward_plan(shape, nullptr, nullptr).workspace();
}
void forward(const FloatProductShape& shape, ProductType type, const float* input,
             const float* weight, const float* bias, float* output, void* workspace,
             const Place& place) {
  forward_plan(shape, input, weight).run(type, bias, output, workspace, place);
}

std::size_t input_error_workspace(const FloatProductShape& shape) {
  return input_error_plan(shape, nullptr, nullptr).workspace();
}
void input_error(const FloatProductShape& shape, ProductType type, const float* error,
                 const float* weight, float* input_error, void* workspace, const Place& place) {
  input_error_plan(shape, error, weight).run(type, nullptr, input_error, workspace, place);
}

std::size_t weight_gradient_workspace(const FloatProductShape& shape) {
  return weight_gradient_plan(shape, nullptr, nullptr).workspace();
}
void weight_gradient(const FloatProductShape& shape, ProductType type, const float* input,
                     const float* error, float* gradient, void* workspace, const Place& place) {
  weight_gradient_plan(shape, input, error).run(type, nullptr, gradient, workspace, place);
}

std::size_t bias_gradient_workspace(const FloatProductShape& shape) {
  return sizeof(float) * shape.groups * shape.out * tiles_of(shape.output_pixels(), kPixelStretch);
}
void bias_gradient(const FloatProductShape& shape, const float* error, float* gradient,
                   void* workspace, const Place& place) {
  const DeviceGuard guard(place);
  const std::int32_t channels = shape.groups * shape.out;
  const std::int32_t planes = tiles_of(shape.output_pixels(), kPixelStretch);
  const dim3 grid(static_cast<unsigned int>(tiles_of(channels, kChannelsABlock)),
                  static_cast<unsigned int>(planes));
  channel_sums_kernel<<<grid, kPlainThreads, 0, stream_of(place)>>>(
      error, shape.output_pixels(), channels, static_cast<float*>(workspace));
  check_launch("place");
  add_planes(static_cast<const float*>(workspace), planes, channels, gradient, place);
}

void mark_not_finite(const float* values, std::size_t count, float* scale, const Place& place) {
  const DeviceGuard guard(place);
  const auto size = static_cast<std::int64_t>(count);
  mark_kernel<<<plain_blocks(size), kPlainThreads, 0, stream_of(place)>>>(values, size, scale);
  check_launch("place");
}

}  // namespace nibble::cuda
