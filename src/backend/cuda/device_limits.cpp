// SPDX-License-Identifier: Apache-2.0
// Green contexts, which have some of a GPU's multiprocessors, and streams that wait.
#include "backend/cuda/device_limits.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "backend/cuda/driver_function.h"
#include "core/number_list.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {
namespace {

void check_driver(const char* what, CUresult result) {
  if (result != CUDA_SUCCESS)
    throw Error("cuda", what, "error " + std::to_string(static_cast<int>(result)),
                "a GPU that can be parted", ErrorKind::device);
}

// Without features that need neighbours, which no kernel here uses, parts may be small.
constexpr unsigned int kLeastWithNeighbours = 8;

// It lives as long as the process.
LimitedStream part_of(int device, unsigned int multiprocessors) {
  constexpr unsigned int kVersion = 12050;
  const auto resource_of =
      driver_function<PFN_cuDeviceGetDevResource_v12040>("cuDeviceGetDevResource", kVersion);
  const auto split = driver_function<PFN_cuDevSmResourceSplitByCount_v12040>(
      "cuDevSmResourceSplitByCount", kVersion);
  const auto describe =
      driver_function<PFN_cuDevResourceGenerateDesc_v12040>("cuDevResourceGenerateDesc", kVersion);
  const auto create = driver_function<PFN_cuGreenCtxCreate_v12040>("cuGreenCtxCreate", kVersion);
  const auto stream_of =
      driver_function<PFN_cuGreenCtxStreamCreate_v12050>("cuGreenCtxStreamCreate", kVersion);
  check("cuda", cudaFree(nullptr));  // the device's own context comes first
  CUdevResource all{};
  CUdevResource part{};
  CUdevResource rest{};
  unsigned int groups = 1;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  CUstream stream = nullptr;
  check_driver("multiprocessors", resource_of(device, &all, CU_DEV_RESOURCE_TYPE_SM));
  const unsigned int flags =
      multiprocessors < kLeastWithNeighbours ? CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING : 0;
  check_driver("a part of them", split(&part, &groups, &all, &rest, flags, multiprocessors));
  check_driver("its description", describe(&description, &part, 1));
  check_driver("its context", create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
  check_driver("its stream", stream_of(&stream, context, CU_STREAM_NON_BLOCKING, 0));
  return {stream, part.sm.smCount};
}

void sleep_for(void* nanoseconds) {
  std::this_thread::sleep_for(
      std::chrono::nanoseconds(reinterpret_cast<std::intptr_t>(nanoseconds)));
}

}  // namespace

DeviceLimits device_limits() {
  DeviceLimits limits;
  const NamedNumber numbers[] = {{"sms", &limits.multiprocessors},
                                 {"copy_us", &limits.copy_microseconds},
                                 {"ps_a_byte", &limits.copy_picoseconds_a_byte}};
  if (const char* text = std::getenv("NIBBLE_CUDA_LIMITS"); text != nullptr)
    read_numbers("NIBBLE_CUDA_LIMITS", text, numbers);
  return limits;
}

LimitedStream make_stream(int device, const DeviceLimits& limits) {
  const DeviceGuard guard({.device = device});
  if (limits.multiprocessors > 0)
    return part_of(device, static_cast<unsigned int>(limits.multiprocessors));
  LimitedStream made;
  check("cuda", cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
  made.multiprocessors = static_cast<unsigned int>(multiprocessors(device));
  return made;
}

void delay(cudaStream_t stream, std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return;
  check("cuda",
        cudaLaunchHostFunc(stream, sleep_for,
                           reinterpret_cast<void*>(static_cast<std::intptr_t>(nanoseconds))));
}

}  // namespace nibble::cuda
