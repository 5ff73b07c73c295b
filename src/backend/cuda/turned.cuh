// SPDX-License-Identifier: Apache-2.0
// Bytes of several images turned, so that the images of one number lie side by side.
#pragma once

#include <cstdint>

#include "backend/cuda/chunks.cuh"
#include "backend/cuda/training_kernels.h"

namespace nibble::cuda {

// 64 images by 128 channels on their way through shared memory, by four warps of which each has 16
// images: image after image in lines of 128 bytes, in an order of 16-byte chunks by which neither
// those who write nor those who read meet in a bank.
class TurningTable {
 public:
  static constexpr std::uint32_t kBytes = 64 * 128;

  // Of the four warps that begin with this one, all of them together.
  __device__ __forceinline__ explicit TurningTable(std::int8_t* memory) : memory_(memory) {}

  __device__ __forceinline__ void put(std::uint32_t image, std::uint32_t chunk,
                                      const uint4& bytes) const {
    *reinterpret_cast<uint4*>(memory_ + place_of(image, chunk)) = bytes;
  }

  // store(channel, first of 16 images, their bytes) for what this thread turns.
  template <class Store>
  __device__ __forceinline__ void take(const Store& store) const {
    const std::uint32_t first_image = threadIdx.x % 4 * 16;
    const std::uint32_t word = threadIdx.x % 128 / 4;  // of four channels
    std::uint32_t turned[4][4];
#pragma unroll
    for (std::uint32_t four = 0; four < 4; ++four) {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i) {
        turned[four][i] = *reinterpret_cast<const std::uint32_t*>(
            memory_ + place_of(first_image + four * 4 + i, word / 4) + word % 4 * 4);
      }
      turn_words(turned[four]);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i)
      store(word * 4 + i, first_image,
            make_uint4(turned[0][i], turned[1][i], turned[2][i], turned[3][i]));
  }

  // All four warps come here.
  static __device__ __forceinline__ void meet() {
    asm volatile("bar.sync %0, 128;" ::"r"(2 + threadIdx.x / 128) : "memory");
  }

 private:
  static __device__ __forceinline__ std::uint32_t place_of(std::uint32_t image,
                                                           std::uint32_t chunk) {
    return image * 128 + (chunk ^ (image % 2 * 4) ^ (image / 16 * 2)) * 16;
  }

  std::int8_t* memory_;
};

// Blocks of 256 threads turn pictures: 64 images by 64 channels of four pixels at a time, each
// thread four images by 16 channels, in registers by fours, then through shared memory into lines
// of 64 images. chunks_at(place, count, chunks) gives 16 channels of the pixel at `place` of up to
// four images; it is asked once for each. pixel_at(i) is the i-th pixel: those that a block has
// together may be others than those side by side.
template <class ChunksAt, class PixelAt>
__device__ __forceinline__ void turn_pictures(const TurnJob& job, std::uint32_t block,
                                              const ChunksAt& chunks_at, const PixelAt& pixel_at) {
  // Words of a line, and those between lines of neighbouring chunks, so that neither who writes
  // nor who reads meets others in a bank.
  constexpr std::uint32_t kPitch = kTurnedImages / 4;
  constexpr std::uint32_t kGap = 8;
  constexpr std::uint32_t kLines = kTurnedChannels * kPitch + kTurnedChannels / kChunk * kGap;
  __shared__ __align__(16) std::uint32_t tile[kTurnedPixels][kLines];
  const auto line_at = [](std::uint32_t channel) {
    return channel * kPitch + channel / kChunk * kGap;
  };
  const std::uint32_t plane = job.pixel_blocks.quotient(block);
  const std::uint32_t from_pitch = job.from.chunks.divisor * kChunk;
  const std::uint32_t pixels = job.from.pixels.divisor;
  const std::uint32_t image_tile = job.channel_tiles.quotient(plane);
  const std::uint32_t first_channel =
      job.channel_tiles.remainder(plane, image_tile) * kTurnedChannels;
  const std::uint32_t first_image = image_tile * kTurnedImages;
  // A warp has 64 channels side by side, of eight times four images.
  const std::uint32_t four = threadIdx.x % 8 + threadIdx.x / 32 % 2 * 8;
  const std::uint32_t part = threadIdx.x / 8 % 4;    // of channels
  const std::uint32_t own_pixel = threadIdx.x / 64;  // of four
  for (std::uint32_t first = job.pixel_blocks.remainder(block, plane) * kTurnedPixels;
       first < pixels; first += job.pixel_blocks.divisor * kTurnedPixels) {
    const std::uint32_t pixel = pixel_at(first + own_pixel);
    const std::uint32_t channel = first_channel + part * kChunk;
    ChunkBytes chunk[4] = {};
    const std::uint32_t image = first_image + four * 4;
    if (image < job.images && channel < from_pitch && first + own_pixel < pixels)
      chunks_at(ChunkPlace{image * pixels + pixel, channel}, job.images - image, chunk);
    __syncthreads();
#pragma unroll
    for (std::uint32_t w = 0; w < 4; ++w) {
      std::uint32_t words[4] = {chunk[0].word[w], chunk[1].word[w], chunk[2].word[w],
                                chunk[3].word[w]};
      turn_words(words);
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
        tile[own_pixel][line_at(part * kChunk + w * 4 + i) + four] = words[i];
    }
    __syncthreads();
    const std::uint32_t line = threadIdx.x / 4;
    const std::uint32_t images = threadIdx.x % 4 * kChunk;
    if (first_channel + line >= job.from.channels || first_image + images >= job.pitch) continue;
#pragma unroll
    for (std::uint32_t i = 0; i < kTurnedPixels; ++i) {
      if (first + i >= pixels) continue;
      store_chunk(job.to,
                  (std::size_t{first_channel + line} * job.channel_step +
                   std::size_t{pixel_at(first + i)} * job.pixel_step) *
                          job.pitch +
                      first_image + images,
                  *reinterpret_cast<const uint4*>(&tile[i][line_at(line) + images / 4]));
    }
  }
}

}  // namespace nibble::cuda
