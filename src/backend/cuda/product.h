// SPDX-License-Identifier: Apache-2.0
// Matrix products of gathered rows, on the instructions that the GPU has.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/cuda/device_params.h"
#include "backend/cuda/device_queue.h"
#include "backend/cuda/sum_finish.h"

namespace nibble::cuda {

enum class ProductPath : std::uint8_t { dp4a, turing, mma, wgmma };
std::string_view name_of(ProductPath path);

// The fastest of the device, or what NIBBLE_CUDA names; throws where the device does not have it.
ProductPath product_path(int device);
// Whether its tensor cores have products of 4 bits: those of Turing to Ada. NIBBLE_CUDA=turing4 or
// mma4 takes them anywhere; Hopper makes them of others, slowly.
bool multiplies_halves(int device);

struct TileSize {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  bool operator==(const TileSize&) const = default;
};
inline constexpr std::uint32_t kDepthChunks = 8;     // of a tile: 128 bytes
inline constexpr std::uint32_t kNarrowColumns = 32;  // of tiles by mma: see is_narrow()

TileSize tile_of(ProductPath path, const ProductShape& shape);
// Of tiles of a product whose groups have so many.
std::uint32_t tile_columns_of(ProductPath path, std::uint32_t group_columns);
std::uint32_t tiles_of(ProductPath path, const ProductShape& shape);
std::uint32_t depths_of(const ProductShape& shape);

void queue(DeviceQueue& queue, ProductPath path, const RoundedProduct& job);
void queue(DeviceQueue& queue, ProductPath path, const NormedProduct& job);
void queue(DeviceQueue& queue, ProductPath path, const FinishedProduct& job);
// In `splits` parts of the depth at most.
void queue(DeviceQueue& queue, ProductPath path, const SummedProduct& job, bool is_wide,
           std::uint32_t splits);

// Tiles of a gradient whose operands the copy engine brings.
std::uint32_t tiles_of(const GradientCopies& copies);

// Lets a kernel have so much shared memory; how many of its blocks then run on a multiprocessor.
unsigned int blocks_of(const void* kernel, unsigned int threads, unsigned int shared_bytes);

// Per path: a kernel of its own source.
void queue_dp4a(DeviceQueue& queue, const RoundedProduct& job);
void queue_dp4a(DeviceQueue& queue, const NormedProduct& job);
void queue_dp4a(DeviceQueue& queue, const FinishedProduct& job);
void queue_dp4a(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes);
void queue_turing(DeviceQueue& queue, const RoundedProduct& job);
void queue_turing(DeviceQueue& queue, const NormedProduct& job);
void queue_turing(DeviceQueue& queue, const FinishedProduct& job);
void queue_turing(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes);
void queue_mma(DeviceQueue& queue, const RoundedProduct& job);
void queue_mma(DeviceQueue& queue, const NormedProduct& job);
void queue_mma(DeviceQueue& queue, const FinishedProduct& job);
void queue_mma(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes);
void queue_wgmma(DeviceQueue& queue, const RoundedProduct& job);
void queue_wgmma(DeviceQueue& queue, const NormedProduct& job);
void queue_wgmma(DeviceQueue& queue, const FinishedProduct& job);
void queue_wgmma(DeviceQueue& queue, const SummedProduct& job, bool is_wide, std::uint32_t planes);

// With operands that the copy engine brings.
void queue_staged_windows(DeviceQueue& queue, const RoundedProduct& job);
void queue_staged_windows(DeviceQueue& queue, const NormedProduct& job);
void queue_staged_finish_128(DeviceQueue& queue, const FinishedProduct& job);
void queue_staged_finish_64(DeviceQueue& queue, const FinishedProduct& job);
void queue_staged_finish_32(DeviceQueue& queue, const FinishedProduct& job);
void queue_staged_gradient(DeviceQueue& queue, const SummedProduct& job, bool is_wide,
                           std::uint32_t planes);

}  // namespace nibble::cuda
