// SPDX-License-Identifier: Apache-2.0
// Which instructions multiply, and how a product is cut into tiles.
#include "backend/cuda/product.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "backend/cuda/finish_cut.h"
#include "cuda/errors.h"

namespace nibble::cuda {
namespace {

constexpr std::array kPaths = {std::pair{ProductPath::dp4a, 61}, std::pair{ProductPath::turing, 75},
                               std::pair{ProductPath::mma, 80},
                               std::pair{ProductPath::wgmma, 90}};  // least architecture
constexpr int kMmaBytes = 160 << 10;  // of shared memory: GPUs for desks have less

int attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  check("cuda", cudaDeviceGetAttribute(&value, which, device));
  return value;
}
int architecture_of(int device) {
  return attribute(device, cudaDevAttrComputeCapabilityMajor) * 10 +
         attribute(device, cudaDevAttrComputeCapabilityMinor);
}

// What NIBBLE_CUDA names, without the 4 of halves; empty: nothing.
struct ForcedPath {
  std::string name;
  bool has_halves = false;
};
ForcedPath forced_path() {
  const char* given = std::getenv("NIBBLE_CUDA");
  if (given == nullptr) return {};
  for (const ProductPath path : {ProductPath::turing, ProductPath::mma}) {
    const std::string name(name_of(path));
    if (name + "4" == given) return {name, true};
  }
  return {given, false};
}

// Tiles for tensor cores of Hopper are large: less is read again.
TileSize wgmma_tile(std::uint32_t columns) {
  if (columns > 128) return {128, 256};
  return {256, 128};
}

void cut(ProductShape& shape, std::uint32_t rows, std::uint32_t columns, const TileSize& tile) {
  const std::uint32_t column_tiles = (columns + tile.columns - 1) / tile.columns;
  shape.column_tiles = Divisor::of(column_tiles);
  shape.bands = Divisor::of(1);
  shape.band_rows = shape.image_rows = tile.rows;
  shape.tiles = (rows + tile.rows - 1) / tile.rows * column_tiles;
}

// Into whole lines of pictures, or whole pictures.
void cut_bands(ProductShape& shape, const WindowCopies& copies) {
  shape.band_rows = copies.band_rows;
  shape.image_rows = std::max(copies.pixels.divisor, shape.band_rows);
  shape.bands = Divisor::of(shape.image_rows / shape.band_rows);
  shape.tiles = (shape.a.rows + shape.band_rows - 1) / shape.band_rows * shape.column_tiles.divisor;
}

ProductShape cut(ProductPath path, ProductShape shape, std::uint32_t splits) {
  cut(shape, shape.a.rows, shape.columns, tile_of(path, shape));
  shape.depths = (depths_of(shape) + splits - 1) / splits;
  return shape;
}

ProductShape cut(const GradientCopies& copies, std::uint32_t splits) {
  ProductShape shape{};
  cut(shape, copies.outs, copies.all_blocks << copies.block_bits, {128, copies.tile_columns});
  shape.depths = (copies.all_stages + splits - 1) / splits;
  return shape;
}

// Columns that meet the same channels.
std::uint32_t group_columns(const ProductShape& shape) {
  return shape.span.has_groups() ? shape.span.columns.divisor : shape.columns;
}

// Those with few rows, or few columns, leave most of a large tile empty; of groups most of it would
// be zeros. Tiles of groups depend on nothing else, since weights are laid out for them.
ProductPath fitting(ProductPath path, const ProductShape& shape) {
  constexpr std::uint32_t kFew = 64;
  const bool has_few = shape.span.has_groups() ? group_columns(shape) < 2 * kFew
                                               : shape.columns < kFew || shape.a.rows < kFew;
  return path == ProductPath::wgmma && has_few ? ProductPath::mma : path;
}

// Of 32 columns by mma: there are no more, or those of wider tiles would be of several groups.
bool is_narrow(const ProductShape& shape) {
  return shape.span.has_groups() ? group_columns(shape) < 4 * kNarrowColumns
                                 : shape.columns <= kNarrowColumns;
}

// All of the depth in one block.
template <class Job>
void queue_whole(DeviceQueue& queue, ProductPath path, const Job& job) {
  Job own = job;
  own.shape = cut(path, job.shape, 1);
  switch (fitting(path, own.shape)) {
    case ProductPath::dp4a:
      return queue_dp4a(queue, own);
    case ProductPath::turing:
      return queue_turing(queue, own);
    case ProductPath::mma:
      return queue_mma(queue, own);
    case ProductPath::wgmma:
      return queue_wgmma(queue, own);
  }
}

}  // namespace

std::string_view name_of(ProductPath path) {
  switch (path) {
    case ProductPath::dp4a:
      return "dp4a";
    case ProductPath::turing:
      return "turing";
    case ProductPath::mma:
      return "mma";
    case ProductPath::wgmma:
      break;
  }
  return "wgmma";
}

ProductPath product_path(int device) {
  const int architecture = architecture_of(device);
  const std::string capability =
      std::to_string(architecture / 10) + "." + std::to_string(architecture % 10);
  // wgmma is Hopper's alone.
  const auto has = [&](ProductPath path, int least) {
    if (path == ProductPath::wgmma) return architecture == least;
    return architecture >= least &&
           (path != ProductPath::mma ||
            attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin) >= kMmaBytes);
  };
  const std::string forced = forced_path().name;
  ProductPath best = ProductPath::dp4a;
  for (const auto& [path, least] : kPaths) {
    if (name_of(path) == forced) {
      if (has(path, least)) return path;
      throw Error("cuda", "NIBBLE_CUDA=" + forced, "a GPU of compute capability " + capability,
                  "one that has it", ErrorKind::device);
    }
    if (has(path, least)) best = path;
  }
  if (!forced.empty())
    throw Error("cuda", "NIBBLE_CUDA", forced, "dp4a, turing, turing4, mma, mma4 or wgmma",
                ErrorKind::device);
  if (architecture < kPaths[0].second)
    throw Error("cuda", "compute capability", capability, "6.1 or newer", ErrorKind::device);
  return best;
}

bool multiplies_halves(int device) {
  const ForcedPath forced = forced_path();
  const int architecture = architecture_of(device);
  return forced.has_halves || (forced.name.empty() && architecture >= 75 && architecture < 90);
}

TileSize tile_of(ProductPath path, const ProductShape& shape) {
  switch (fitting(path, shape)) {
    case ProductPath::dp4a:
      return {64, 64};
    case ProductPath::turing:
      return {128, 64};
    case ProductPath::mma:
      return {128, is_narrow(shape) ? kNarrowColumns : 4 * kNarrowColumns};
    case ProductPath::wgmma:
      break;
  }
  return wgmma_tile(group_columns(shape));
}

std::uint32_t tile_columns_of(ProductPath path, std::uint32_t group_columns) {
  ProductShape shape{};
  shape.span.columns = Divisor::of(group_columns);
  shape.span.width = 1;
  return tile_of(path, shape).columns;
}

std::uint32_t tiles_of(ProductPath path, const ProductShape& shape) {
  return cut(path, shape, 1).tiles;
}

std::uint32_t tiles_of(const GradientCopies& copies) {
  return cut(copies, 1).tiles;
}

std::uint32_t depths_of(const ProductShape& shape) {
  return (shape.segments * shape.segment_chunks.divisor + kDepthChunks - 1) / kDepthChunks;
}

unsigned int blocks_of(const void* kernel, unsigned int threads, unsigned int shared_bytes) {
  static std::mutex mutex;  // several queues ask at once
  static std::map<const void*, unsigned int> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(kernel); found != known.end()) return found->second;
  check("cuda", cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)));
  int blocks = 0;
  check("cuda", cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                    &blocks, kernel, static_cast<int>(threads), shared_bytes));
  return known[kernel] = static_cast<unsigned int>(std::max(blocks, 1));
}

void queue(DeviceQueue& queue, ProductPath path, const RoundedProduct& job) {
  if (job.copies.segment == 0) return queue_whole(queue, path, job);
  RoundedProduct own = job;
  own.shape = cut(path, job.shape, 1);
  queue_staged_windows(queue, own);
}
void queue(DeviceQueue& queue, ProductPath path, const NormedProduct& job) {
  if (job.copies.segment == 0) return queue_whole(queue, path, job);
  NormedProduct own = job;
  own.shape = cut(path, job.shape, 1);
  queue_staged_windows(queue, own);
}

void queue(DeviceQueue& queue, ProductPath path, const FinishedProduct& job) {
  if (job.copies.segment == 0) return queue_whole(queue, path, job);
  FinishedProduct own = job;
  cut(own.shape, job.shape.a.rows, job.shape.columns, {job.tile_rows, job.tile_columns});
  if (job.copies.band_rows != 0) cut_bands(own.shape, job.copies);
  const std::uint32_t stages =
      FinishExtent{.segment = job.copies.segment,
                   .segments = job.copies.taps[0] * job.copies.taps[1] * job.copies.segments}
          .stages();
  own.shape.depths = (stages + job.planes - 1) / job.planes;
  own.planes = (stages + own.shape.depths - 1) / own.shape.depths;
  switch (job.copies.segment) {
    case 128:
      return queue_staged_finish_128(queue, own);
    case 64:
      return queue_staged_finish_64(queue, own);
    default:
      return queue_staged_finish_32(queue, own);
  }
}

void queue(DeviceQueue& queue, ProductPath path, const SummedProduct& job, bool is_wide,
           std::uint32_t splits) {
  SummedProduct own = job;
  if (job.copies.segment != 0) {
    own.shape = cut(job.copies, splits);
    const std::uint32_t depths = own.shape.depths;
    return queue_staged_gradient(queue, own, is_wide,
                                 (job.copies.all_stages + depths - 1) / depths);
  }
  own.shape = cut(path, job.shape, splits);
  const std::uint32_t planes = (depths_of(own.shape) + own.shape.depths - 1) / own.shape.depths;
  switch (fitting(path, own.shape)) {
    case ProductPath::dp4a:
      return queue_dp4a(queue, own, is_wide, planes);
    case ProductPath::turing:
      return queue_turing(queue, own, is_wide, planes);
    case ProductPath::mma:
      return queue_mma(queue, own, is_wide, planes);
    case ProductPath::wgmma:
      return queue_wgmma(queue, own, is_wide, planes);
  }
}

}  // namespace nibble::cuda
