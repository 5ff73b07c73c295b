// SPDX-License-Identifier: Apache-2.0
// What a step of a network asks a GPU for.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/cuda/device_queue.h"
#include "backend/cuda/product.h"
#include "engine/cuda/device_constants.h"
#include "engine/cuda/device_places.h"
#include "engine/program.h"

namespace nibble::inline engine {

// A batch on its way through the steps.
struct DeviceRun {
  cuda::DeviceQueue& queue;
  std::int8_t* arena;
  std::int32_t* sums;      // of products that several blocks share: zeros between steps
  std::uint32_t* arrived;  // blocks that have added theirs, by tile: the same
  std::uint32_t images;
};

// Sums that the products of one step may share: as many as half of the multiprocessors have in the
// largest tiles.
std::size_t shared_sum_bytes(int device);
std::size_t shared_tiles(int device);  // at most

// Launches what it takes.
using DeviceWork = std::function<void(const DeviceRun& run)>;

// What a step is compiled from and with.
struct DeviceParts {
  const EngineProgram& program;
  const DevicePlaces& places;
  DeviceConstants& constants;
  cuda::ProductPath path;  // of products on tensor cores, or without them
  bool multiplies_halves;  // tensor cores have products of 4 bits
  const Tuning& tuning;
};

// `shape`: what its speed depends on, where it can be cut in several ways.
DeviceWork product_work(const DeviceParts& parts, const ProgramStep& step, const ProductLaw& law,
                        std::string& shape);
DeviceWork mean_work(const DeviceParts& parts, const ProgramStep& step, const MeanLaw& law);
DeviceWork single_work(const DeviceParts& parts, const ProgramStep& step, const SingleLaw& law);

// The largest of windows of a value, `out` kept as `in` is.
DeviceWork largest_work(const MaxPool& pool, const DevicePlace& in, const DevicePlace& out);

}  // namespace nibble::inline engine
