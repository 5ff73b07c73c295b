// SPDX-License-Identifier: Apache-2.0
// Numbers that change without rounding.
#include <algorithm>

#include "backend/cuda/chunks.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/plain_kernels.h"
#include "core/philox_draws.h"
#include "data/augment_law.h"
#include "laws/integer_laws.h"

namespace nibble::cuda {
namespace {

__device__ std::uint32_t cut_bytes(bool has_cut, int exponent) {
  return kEachByte * static_cast<std::uint8_t>(has_cut ? relu6_cut(exponent) : 127);
}

__global__ void __launch_bounds__(256) rectify(const __grid_constant__ RectifyJob job) {
  start_kernel();
  const bool is_error = job.passed != nullptr;
  const int exponent = *job.from.exponent;
  const std::uint32_t cut = cut_bytes(job.has_cut != 0, is_error ? *job.passed_exponent : exponent);
  const bool cuts = cut != kEachByte * 127u;
  for_each_chunk(job.to, [&](const ChunkPlace& at) {
    const std::size_t offset = place_in(job.to, at);
    ChunkBytes chunk{load_chunk(job.from.data, offset)};
    if (is_error) {
      ChunkBytes passed{load_chunk(job.passed, offset)};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        std::uint32_t passes = __vcmpgts4(passed.word[i], 0u);
        if (cuts) passes &= ~__vcmpeq4(passed.word[i], cut);
        chunk.word[i] &= passes;
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) chunk.word[i] = __vmins4(__vmaxs4(chunk.word[i], 0u), cut);
    }
    store_chunk(job.to.data, offset, chunk.words);
  });
  set_exponent(job.to, exponent);
}

// Of features from `feature` on, those that are kept: where the first bits of the draw are zeros.
__device__ __forceinline__ ChunkBytes kept_features(const RandomKey& key, std::uint64_t feature,
                                                    std::int32_t halvings) {
  ChunkBytes kept{};
  const auto keep = [&](int i, std::uint32_t draw) {
    if (draw >> (32 - halvings) == 0) kept.word[i / 4] |= 0xFFu << i % 4 * 8;
  };
  if (feature % 4 != 0) {
#pragma unroll
    for (int i = 0; i < kChunk; i += 4) {
#pragma unroll 1
      for (int k = 0; k < 4; ++k) keep(i + k, philox::draw32(key, feature + i + k));
    }
    return kept;
  }
#pragma unroll
  for (int i = 0; i < kChunk; i += 4) {
    const PhiloxBlock draws = philox::block_of(key, (feature + i) / 4);
#pragma unroll
    for (int k = 0; k < 4; ++k) keep(i + k, draws[k]);
  }
  return kept;
}

// One mask of features for all images: a thread makes that of a chunk, of every gridDim.y-th image.
__global__ void __launch_bounds__(256) drop(const __grid_constant__ DropJob job) {
  start_kernel();
  const RandomKey key{job.step->seed, job.stream, job.step->step};
  const std::uint32_t pixels = job.to.pixels.divisor;
  const std::uint32_t images = job.to.pixels.quotient(job.to.rows);
  const std::uint32_t chunks = pixels * job.to.chunks.divisor;  // of an image
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < chunks;
       i += gridDim.x * blockDim.x) {
    const std::uint32_t pixel = job.to.chunks.quotient(i);
    const std::uint32_t channel = job.to.chunks.remainder(i, pixel) * kChunk;
    const ChunkBytes kept =
        kept_features(key, std::uint64_t{pixel} * job.to.channels + channel, job.halvings);
    // Some images are on their way before the first is stored.
    constexpr std::uint32_t kTogether = 4;
    for (std::uint32_t first = blockIdx.y; first < images; first += kTogether * gridDim.y) {
      ChunkBytes some[kTogether];
      const auto offset_at = [&](std::uint32_t k) {
        return place_in(job.to, {(first + k * gridDim.y) * pixels + pixel, channel});
      };
#pragma unroll
      for (std::uint32_t k = 0; k < kTogether; ++k) {
        if (first + k * gridDim.y < images) some[k].words = load_chunk(job.from.data, offset_at(k));
      }
#pragma unroll
      for (std::uint32_t k = 0; k < kTogether; ++k) {
        if (first + k * gridDim.y >= images) continue;
#pragma unroll
        for (int w = 0; w < 4; ++w) some[k].word[w] &= kept.word[w];
        store_chunk(job.to.data, offset_at(k), some[k].words);
      }
    }
  }
  set_exponent(job.to, *job.from.exponent + job.halvings);
}

__global__ void __launch_bounds__(256) copy(const __grid_constant__ CopyJob job) {
  start_kernel();
  if (job.from.data != job.to.data) {
    for_each_chunk(job.to, [&](const ChunkPlace& at) {
      const std::size_t offset = place_in(job.to, at);
      store_chunk(job.to.data, offset, load_chunk(job.from.data, offset));
    });
  }
  set_exponent(job.to, *job.from.exponent);
}

// Where number `at` of the result comes from along one axis, or -1.
__device__ int source_along(const BoxJob& job, int axis, int at) {
  if (job.to_small != 0) return job.begin[axis] + at * static_cast<int>(job.step[axis].divisor);
  const int distance = at - job.begin[axis];
  if (distance < 0) return -1;
  const auto reached = static_cast<std::uint32_t>(distance);
  const std::uint32_t place = job.step[axis].quotient(reached);
  const bool is_there = job.step[axis].remainder(reached, place) == 0 &&
                        place < static_cast<std::uint32_t>(job.small[axis]);
  return is_there ? static_cast<int>(place) : -1;
}

__global__ void __launch_bounds__(256) move_box(const __grid_constant__ BoxJob job) {
  start_kernel();
  for_each_chunk(job.to, [&](const ChunkPlace& at) {
    const std::uint32_t image = job.to.pixels.quotient(at.row);
    const std::uint32_t pixel = job.to.pixels.remainder(at.row, image);
    const std::uint32_t y = job.width.quotient(pixel);
    const int from_y = source_along(job, 0, static_cast<int>(y));
    const int from_x = source_along(job, 1, static_cast<int>(job.width.remainder(pixel, y)));
    ChunkBytes chunk{};
    if (from_y >= 0 && from_x >= 0) {
      const std::uint32_t row = image * job.from.pixels.divisor +
                                static_cast<std::uint32_t>(from_y) * job.from_width +
                                static_cast<std::uint32_t>(from_x);
      const std::int8_t* from = job.from.data + place_in(job.from, {row, 0});
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        if (at.channel + i >= job.to.channels) continue;
        const int channel = source_along(job, 2, static_cast<int>(at.channel) + i);
        if (channel >= 0) chunk.bytes[i] = from[channel];
      }
    }
    store_chunk(job.to.data, place_in(job.to, at), chunk.words);
  });
  set_exponent(job.to, *job.from.exponent);
}

// Of pixels that a word holds.
__global__ void __launch_bounds__(256) gather_patches(const __grid_constant__ PatchJob job) {
  start_kernel();
  const auto in = static_cast<int>(job.in.divisor);
  const std::uint32_t kept = ~0u >> (32 - 8 * in);
  for_each_chunk(job.to, [&](const ChunkPlace& at) {
    const std::uint32_t image = job.to.pixels.quotient(at.row);
    const std::uint32_t pixel = job.to.pixels.remainder(at.row, image);
    const std::int32_t* sources = job.table.sources + pixel * job.table.taps;
    const std::int8_t* from =
        job.from.data + std::size_t{image} * job.from.pixels.divisor * row_bytes(job.from);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint32_t tap = job.in.quotient(at.channel);
    // Where the pixel of a tap lies in this chunk; the first may begin in the one before.
    int place = static_cast<int>(tap) * in - static_cast<int>(at.channel);
    for (; place < kChunk && tap < job.table.taps; ++tap, place += in) {
      const std::int32_t source = sources[tap];
      if (source < 0) continue;
      const std::uint64_t bytes =
          *reinterpret_cast<const std::uint32_t*>(from + source * row_bytes(job.from)) & kept;
      if (place < 0) {
        low |= bytes >> (-8 * place);
      } else if (place < 8) {
        low |= bytes << (8 * place);
        if (place > 4) high |= bytes >> (64 - 8 * place);
      } else {
        high |= bytes << (8 * (place - 8));
      }
    }
    store_chunk(
        job.to.data, place_in(job.to, at),
        make_uint4(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                   static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)));
  });
}

__global__ void __launch_bounds__(256) spread(const __grid_constant__ SpreadJob job) {
  start_kernel();
  for_each_chunk(job.to, [&](const ChunkPlace& at) {
    const std::uint8_t* from = job.from + std::size_t{at.row} * job.to.channels + at.channel;
    const std::uint32_t pixel = job.to.pixels.remainder(at.row, job.to.pixels.quotient(at.row));
    const std::uint32_t feature = pixel * job.to.channels + at.channel;
    std::uint32_t table =
        job.table_channels.remainder(feature, job.table_channels.quotient(feature));
    ChunkBytes chunk{};
    if (job.tables == nullptr && job.to.channels % kChunk == 0) {
      chunk.words = load_chunk(from, 0);
      store_chunk(job.to.data, place_in(job.to, at), chunk.words);
      return;
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (at.channel + i >= job.to.channels) continue;
      chunk.bytes[i] = job.tables != nullptr ? job.tables[table * 256 + from[i]]
                                             : static_cast<std::int8_t>(from[i]);
      table = table + 1 == job.table_channels.divisor ? 0 : table + 1;
    }
    store_chunk(job.to.data, place_in(job.to, at), chunk.words);
  });
  set_exponent(job.to, job.sent_exponent != nullptr ? *job.sent_exponent : job.exponent);
}

__global__ void __launch_bounds__(256) pack(const __grid_constant__ PackJob job) {
  start_kernel();
  for_each_chunk(job.from, [&](const ChunkPlace& at) {
    std::int8_t* to = job.to + std::size_t{at.row} * job.from.channels + at.channel;
    const ChunkBytes chunk{load_chunk(job.from.data, place_in(job.from, at))};
    if (job.from.channels % kChunk == 0) return store_chunk(to, 0, chunk.words);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (at.channel + i < job.from.channels) to[i] = chunk.bytes[i];
    }
  });
  if (blockIdx.x == 0 && threadIdx.x == 0 && job.from.exponent != nullptr)
    *job.exponent = *job.from.exponent;
}

__global__ void __launch_bounds__(256) pack_chunks(const __grid_constant__ PackChunksJob job) {
  start_kernel();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < job.chunks;
       i += gridDim.x * blockDim.x)
    store_chunk(job.to, std::size_t{i} * kChunk, load_chunk(job.from, std::size_t{i} * kChunk));
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  int exponent = job.added;
  for (const std::int32_t* each : job.exponents) {
    if (each != nullptr) exponent += *each;
  }
  *job.exponent = exponent;
}

__global__ void __launch_bounds__(256) gather(const __grid_constant__ GatherJob job) {
  start_kernel();
  const AugmentOptions options{.padding = job.padding,
                               .has_flip = job.has_flip != 0,
                               .cutout = job.cutout,
                               .fill = static_cast<std::uint8_t>(job.fill)};
  const RandomKey key{job.selected->seed, kAugmentStream, job.selected->epoch};
  const auto* indices = reinterpret_cast<const std::int32_t*>(job.selected + 1);
  const auto channels = static_cast<std::int32_t>(job.channels.divisor);
  for_each_chunk(job.to, [&](const ChunkPlace& at) {
    const std::uint32_t image = job.to.pixels.quotient(at.row);
    const std::int32_t index = indices[image];
    const Augmentation drawn =
        augmentation_by(options, job.height, job.width, [&](std::uint64_t k) {
          return philox::draw32(key, kAugmentDraws * static_cast<std::uint64_t>(index) + k);
        });
    const std::uint32_t feature =
        job.to.pixels.remainder(at.row, image) * job.to.channels + at.channel;
    const std::uint32_t line = job.line.quotient(feature);
    const std::uint32_t within = job.line.remainder(feature, line);
    auto y = static_cast<std::int32_t>(line);
    auto x = static_cast<std::int32_t>(job.channels.quotient(within));
    std::int32_t c = static_cast<std::int32_t>(within) - x * channels;
    ChunkBytes chunk{};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (at.channel + i >= job.to.channels) continue;
      const PixelSource source = source_of(options, drawn, job.height, job.width, y, x);
      const std::size_t place =
          ((std::size_t{static_cast<std::uint32_t>(index)} * job.height + source.y) * job.width +
           source.x) *
              channels +
          c;
      const std::uint8_t byte = source.is_filled ? options.fill : job.images[place];
      chunk.bytes[i] = job.tables[c * 256 + byte];
      if (++c < channels) continue;
      c = 0;
      if (++x < job.width) continue;
      x = 0;
      ++y;
    }
    store_chunk(job.to.data, place_in(job.to, at), chunk.words);
  });
  set_exponent(job.to, job.exponent);
}

}  // namespace

void queue(DeviceQueue& queue, const RectifyJob& job) {
  queue.launch(rectify, grid_of(queue, job.to), job);
}
void queue(DeviceQueue& queue, const DropJob& job) {
  constexpr std::uint32_t kImages = 8;  // of a thread
  const std::uint32_t images = job.to.rows / job.to.pixels.divisor;
  Grid grid = grid_of(queue, std::uint64_t{job.to.pixels.divisor} * job.to.chunks.divisor);
  grid.planes = std::clamp((images + kImages - 1) / kImages, 1u, 1024u);
  queue.launch(drop, grid, job);
}
void queue(DeviceQueue& queue, const CopyJob& job) {
  const Grid grid = job.from.data == job.to.data ? Grid{.threads = 32} : grid_of(queue, job.to);
  queue.launch(copy, grid, job);
}
void queue(DeviceQueue& queue, const BoxJob& job) {
  queue.launch(move_box, grid_of(queue, job.to), job);
}
void queue(DeviceQueue& queue, const PatchJob& job) {
  queue.launch(gather_patches, grid_of(queue, job.to), job);
}
void queue(DeviceQueue& queue, const GatherJob& job) {
  queue.launch(gather, grid_of(queue, job.to), job);
}
void queue(DeviceQueue& queue, const SpreadJob& job) {
  queue.launch(spread, grid_of(queue, job.to), job);
}

void queue(DeviceQueue& queue, const PackJob& job) {
  queue.launch(pack, grid_of(queue, job.from), job);
}

void queue(DeviceQueue& queue, const PackChunksJob& job) {
  queue.launch(pack_chunks, grid_of(queue, job.chunks), job);
}

}  // namespace nibble::cuda
