// SPDX-License-Identifier: Apache-2.0
// Tensor maps, encoded by the driver.
#include "backend/cuda/tensor_map.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstring>
#include <limits>

#include "backend/cuda/driver_function.h"

namespace nibble::cuda {
namespace {

CUtensorMapSwizzle swizzle_of(std::uint32_t segment) {
  return segment == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : segment == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                         : CU_TENSOR_MAP_SWIZZLE_32B;
}

TensorMap checked(const char* what, CUresult result, const CUtensorMap& map) {
  if (result != CUDA_SUCCESS)
    throw Error("cuda", what, "error " + std::to_string(static_cast<int>(result)),
                "a tensor that the copy engine takes", ErrorKind::device);
  static_assert(sizeof(TensorMap) == sizeof map);
  TensorMap bytes;
  std::memcpy(&bytes, &map, sizeof map);
  return bytes;
}

void* address_of(const std::int8_t* data) {
  return const_cast<std::int8_t*>(data);
}

// Corners count from the picture's own, in a signed byte.
std::int32_t upper_corner(const WindowBox& windows, std::size_t axis) {
  const auto extent = static_cast<std::int64_t>(axis == 0 ? windows.width : windows.height);
  const std::int64_t last =
      windows.first[axis] + std::int64_t{windows.count[axis] - 1} * windows.stride[axis];
  return static_cast<std::int32_t>(last + 1 - extent);
}

bool is_corner(std::int64_t number) {
  return number >= std::numeric_limits<std::int8_t>::min() &&
         number <= std::numeric_limits<std::int8_t>::max();
}

}  // namespace

std::uint32_t segment_of(std::uint32_t bytes) {
  std::uint32_t best = kSegments.front();
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t each : kSegments) {
    const std::uint32_t filled = (bytes + each - 1) / each * each;
    if (filled >= least) continue;
    best = each;
    least = filled;
  }
  return best;
}

TensorMap map_of(const TensorBox& tensor) {
  static const auto encode =
      driver_function<PFN_cuTensorMapEncodeTiled_v12000>("cuTensorMapEncodeTiled");
  const std::array<cuuint32_t, 5> steps = {1, 1, 1, 1, 1};
  CUtensorMap map;
  const CUtensorMapDataType type = tensor.has_long_lines ? CU_TENSOR_MAP_DATA_TYPE_UINT64
                                   : tensor.has_sums     ? CU_TENSOR_MAP_DATA_TYPE_INT32
                                                         : CU_TENSOR_MAP_DATA_TYPE_UINT8;
  const std::uint32_t line = tensor.has_sums ? 4 * tensor.box[0] : tensor.box[0];
  const CUresult result =
      encode(&map, type, tensor.rank, address_of(tensor.data),
             reinterpret_cast<const cuuint64_t*>(tensor.extents.data()),
             reinterpret_cast<const cuuint64_t*>(tensor.strides.data()), tensor.box.data(),
             steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
             tensor.has_long_lines ? CU_TENSOR_MAP_SWIZZLE_NONE : swizzle_of(line),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return checked("box of a tensor", result, map);
}

bool can_map(const WindowBox& windows) {
  bool can = true;
  for (const std::size_t axis : {0u, 1u})
    can = can && is_corner(windows.first[axis]) && is_corner(upper_corner(windows, axis)) &&
          windows.stride[axis] <= 8;
  return can;
}

TensorMap map_of(const WindowBox& windows) {
  static const auto encode =
      driver_function<PFN_cuTensorMapEncodeIm2col_v12000>("cuTensorMapEncodeIm2col");
  const std::array<cuuint64_t, 4> extents = {windows.channels, windows.width, windows.height,
                                             windows.images};
  const std::array<cuuint64_t, 3> strides = {windows.channels, windows.channels * windows.width,
                                             windows.image_bytes};
  const std::array<int, 2> lower = {windows.first[0], windows.first[1]};
  const std::array<int, 2> upper = {upper_corner(windows, 0), upper_corner(windows, 1)};
  const std::array<cuuint32_t, 4> steps = {1, static_cast<cuuint32_t>(windows.stride[0]),
                                           static_cast<cuuint32_t>(windows.stride[1]), 1};
  CUtensorMap map;
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, address_of(windows.data), extents.data(),
             strides.data(), lower.data(), upper.data(), windows.segment, windows.pixels,
             steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(windows.segment),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return checked("windows of pictures", result, map);
}

}  // namespace nibble::cuda
