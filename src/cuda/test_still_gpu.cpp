// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's runtime that training and engines call, without a GPU: memory is
// addresses that nobody reads, what comes back from it is zeros.
#include "cuda/test_still_gpu.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudaTypedefs.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace nibble::still_gpu {
namespace {

constexpr std::size_t kGranule = std::size_t{1} << 21;

struct Failure {
  Call call;
  std::size_t successes;  // before it
};

struct Gpu {
  std::mutex mutex;  // of all else
  Counts counts;
  std::size_t memory_size = kMemory;
  std::size_t most_graphs = kManyGraphs;
  std::map<std::uintptr_t, std::size_t> memory;
  std::map<std::uintptr_t, std::size_t> pinned;  // of the host
  std::optional<Failure> failure;
  std::function<void()> waiting;
  std::function<void()> making;
};
thread_local bool is_recording = false;
Gpu& gpu() {
  static Gpu one;
  return one;
}

std::unique_lock<std::mutex> alone() {
  return std::unique_lock(gpu().mutex);
}

bool fails(Call call) {
  std::optional<Failure>& failure = gpu().failure;
  if (!failure || failure->call != call) return false;
  if (failure->successes == 0) return true;
  --failure->successes;
  return false;
}

bool is_pinned(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto behind = gpu().pinned.upper_bound(place);
  if (behind == gpu().pinned.begin()) return false;
  const auto& [begin, length] = *std::prev(behind);
  return place < begin + length;
}

cudaError_t wait() {
  ++gpu().counts.waits;
  return cudaSuccess;
}

cudaError_t pin(void** data, std::size_t bytes) {
  const auto lock = alone();
  *data = std::calloc(bytes, 1);
  gpu().pinned.emplace(reinterpret_cast<std::uintptr_t>(*data), bytes);
  return cudaSuccess;
}

template <class Handle>
cudaError_t make(Handle* handle) {
  static std::atomic<std::uintptr_t> last = 0;
  *handle = reinterpret_cast<Handle>(++last);
  return cudaSuccess;
}

// Two tensors have one map only where they lie at one address.
CUresult map_of(CUtensorMap* map, const void* address) {
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}
CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                      const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                      CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                      CUtensorMapFloatOOBfill) {
  return map_of(map, address);
}
CUresult encode_windows(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                        const cuuint64_t*, const cuuint64_t*, const int*, const int*, cuuint32_t,
                        cuuint32_t, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                        CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return map_of(map, address);
}

}  // namespace

Counts counts() {
  const auto lock = alone();
  return gpu().counts;
}

void fail_after(Call call, std::size_t successes) {
  const auto lock = alone();
  gpu().failure = Failure{call, successes};
}

void fail_no_more() {
  const auto lock = alone();
  gpu().failure.reset();
}

void on_wait(std::function<void()> call) {
  const auto lock = alone();
  gpu().waiting = std::move(call);
}

void on_graph(std::function<void()> call) {
  const auto lock = alone();
  gpu().making = std::move(call);
}

void set_memory(std::size_t bytes) {
  gpu().memory_size = bytes;
}

void set_most_graphs(std::size_t count) {
  const auto lock = alone();
  gpu().most_graphs = count;
}

}  // namespace nibble::still_gpu

// The linker sends calls of a function to __wrap_ and its name.
#define STILL(name, ...)                             \
  extern "C" cudaError_t __wrap_##name(__VA_ARGS__); \
  extern "C" cudaError_t __wrap_##name(__VA_ARGS__)
#define STILL_SUCCEEDS(name, ...) \
  STILL(name, __VA_ARGS__) {      \
    return cudaSuccess;           \
  }

using namespace nibble::still_gpu;

STILL(cudaMalloc, void** data, std::size_t bytes) {
  const auto lock = alone();
  if (gpu().counts.allocated + bytes > gpu().memory_size) return cudaErrorMemoryAllocation;
  std::uintptr_t place = kGranule;  // the lowest that is free
  for (const auto& [begin, length] : gpu().memory) {
    if (begin - place >= bytes) break;
    place = (begin + length + kGranule - 1) / kGranule * kGranule;
  }
  gpu().memory.emplace(place, bytes);
  gpu().counts.allocated += bytes;
  *data = reinterpret_cast<void*>(place);
  return cudaSuccess;
}
STILL(cudaFree, void* data) {
  const auto lock = alone();
  const auto found = gpu().memory.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == gpu().memory.end()) return data == nullptr ? cudaSuccess : cudaErrorInvalidValue;
  gpu().counts.allocated -= found->second;
  gpu().memory.erase(found);
  return cudaSuccess;
}
STILL(cudaMemGetInfo, std::size_t* left, std::size_t* all) {
  const auto lock = alone();
  *left = gpu().memory_size - gpu().counts.allocated;
  *all = gpu().memory_size;
  return cudaSuccess;
}
STILL(cudaMallocHost, void** data, std::size_t bytes) {
  return pin(data, bytes);
}
STILL(cudaHostAlloc, void** data, std::size_t bytes, unsigned int) {
  return pin(data, bytes);
}
STILL(cudaFreeHost, void* data) {
  const auto lock = alone();
  gpu().pinned.erase(reinterpret_cast<std::uintptr_t>(data));
  std::free(data);
  return cudaSuccess;
}
STILL(cudaMemcpyAsync, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
      cudaStream_t) {
  const auto lock = alone();
  if (fails(Call::copy)) return cudaErrorUnknown;
  const bool is_back = kind == cudaMemcpyDeviceToHost;
  if (is_back) std::memset(to, 0, bytes);
  if (is_back || kind == cudaMemcpyHostToDevice) {
    if (!is_pinned(is_back ? to : from)) wait();
  }
  if (!is_back && is_pinned(from)) gpu().counts.sent += bytes;
  return cudaSuccess;
}

STILL_SUCCEEDS(cudaMemcpy, void*, const void*, std::size_t, cudaMemcpyKind)
STILL_SUCCEEDS(cudaMemsetAsync, void*, int, std::size_t, cudaStream_t)

STILL(cudaLaunchKernelExC, const cudaLaunchConfig_t* config, const void*, void**) {
  if (config->gridDim.x == 0 || config->gridDim.y == 0) return cudaErrorInvalidConfiguration;
  const auto lock = alone();
  if (fails(Call::launch)) return cudaErrorLaunchOutOfResources;
  ++(is_recording ? gpu().counts.recorded : gpu().counts.launches);
  return cudaSuccess;
}
STILL(cudaStreamBeginCapture, cudaStream_t, cudaStreamCaptureMode) {
  const auto lock = alone();
  is_recording = true;
  gpu().counts.recorded = 0;
  ++gpu().counts.captures;
  return cudaSuccess;
}
STILL(cudaStreamEndCapture, cudaStream_t, cudaGraph_t* graph) {
  const auto lock = alone();
  is_recording = false;
  --gpu().counts.captures;
  ++gpu().counts.captured;
  return make(graph);
}
STILL(cudaGraphInstantiate, cudaGraphExec_t* runnable, cudaGraph_t, unsigned long long) {
  std::function<void()> making;
  {
    const auto lock = alone();
    if (fails(Call::make_graph)) return cudaErrorUnknown;
    if (gpu().counts.graphs >= gpu().most_graphs) return cudaErrorMemoryAllocation;
    ++gpu().counts.recordings;
    ++gpu().counts.graphs;
    making = gpu().making;
  }
  if (making) making();
  return make(runnable);
}
STILL(cudaGraphUpload, cudaGraphExec_t, cudaStream_t) {
  const auto lock = alone();
  ++gpu().counts.uploads;
  return cudaSuccess;
}
STILL(cudaGraphLaunch, cudaGraphExec_t, cudaStream_t) {
  const auto lock = alone();
  ++gpu().counts.replays;
  return cudaSuccess;
}
STILL(cudaGraphDestroy, cudaGraph_t) {
  const auto lock = alone();
  --gpu().counts.captured;
  return cudaSuccess;
}
STILL(cudaGraphExecDestroy, cudaGraphExec_t) {
  const auto lock = alone();
  --gpu().counts.graphs;
  return cudaSuccess;
}

STILL(cudaStreamCreateWithFlags, cudaStream_t* stream, unsigned int) {
  return make(stream);
}
STILL(cudaEventCreateWithFlags, cudaEvent_t* event, unsigned int) {
  return make(event);
}
STILL(cudaStreamSynchronize, cudaStream_t) {
  std::function<void()> waiting;
  {
    const auto lock = alone();
    waiting = gpu().waiting;
    wait();
  }
  if (waiting) waiting();
  return cudaSuccess;
}
STILL(cudaEventSynchronize, cudaEvent_t) {
  const auto lock = alone();
  return wait();
}
STILL_SUCCEEDS(cudaStreamDestroy, cudaStream_t)
STILL_SUCCEEDS(cudaStreamWaitEvent, cudaStream_t, cudaEvent_t, unsigned int)
STILL_SUCCEEDS(cudaEventDestroy, cudaEvent_t)
STILL_SUCCEEDS(cudaEventQuery, cudaEvent_t)
STILL_SUCCEEDS(cudaEventRecord, cudaEvent_t, cudaStream_t)

// One GPU like an H200.
STILL(cudaGetDeviceCount, int* count) {
  *count = 1;
  return cudaSuccess;
}
STILL(cudaGetDevice, int* device) {
  *device = 0;
  return cudaSuccess;
}
STILL(cudaDeviceGetAttribute, int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount      ? 132
           : attribute == cudaDevAttrComputeCapabilityMajor ? 9
                                                            : 0;
  return cudaSuccess;
}
STILL(cudaGetDeviceProperties, cudaDeviceProp* properties, int) {
  *properties = {};
  return cudaSuccess;
}
STILL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, const void*, int, std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}
STILL(cudaGetDriverEntryPointByVersion, const char* name, void** function, unsigned int,
      unsigned long long, cudaDriverEntryPointQueryResult* result) {
  const bool is_tiled = std::string_view(name) == "cuTensorMapEncodeTiled";
  *function =
      is_tiled ? reinterpret_cast<void*>(encode_tiled) : reinterpret_cast<void*>(encode_windows);
  *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
STILL_SUCCEEDS(cudaSetDevice, int)
STILL_SUCCEEDS(cudaFuncSetAttribute, const void*, cudaFuncAttribute, int)
STILL_SUCCEEDS(cudaFuncGetAttributes, cudaFuncAttributes*, const void*)
STILL_SUCCEEDS(cudaGetLastError, void)
