// SPDX-License-Identifier: Apache-2.0
// For tests and benches on a GPU: memory, streams and graphs that clean up after themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "cuda/errors.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

template <class T>
class TestMemory {
 public:
  explicit TestMemory(std::size_t count) : count_(count) {
    check("test", cudaMalloc(&data_, count * sizeof(T) + 16));
  }
  explicit TestMemory(std::span<const T> values) : TestMemory(values.size()) { put(values); }
  ~TestMemory() { cudaFree(data_); }
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  T* data() { return static_cast<T*>(data_); }

  void put(std::span<const T> values) {
    check("test", cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
  }
  // Waits for all work of the device first.
  std::vector<T> get() {
    std::vector<T> values(count_);
    check("test", cudaDeviceSynchronize());
    check("test", cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

// All that the GPU still has, until it refuses a mebibyte.
class TakenMemory {
 public:
  TakenMemory() {
    for (std::size_t size = std::size_t{1} << 36; size >= std::size_t{1} << 20; size /= 2) {
      void* memory = nullptr;
      while (cudaMalloc(&memory, size) == cudaSuccess) taken_.push_back(memory);
      cudaGetLastError();
    }
  }
  ~TakenMemory() {
    for (void* each : taken_) cudaFree(each);
  }
  TakenMemory(const TakenMemory&) = delete;
  TakenMemory& operator=(const TakenMemory&) = delete;

 private:
  std::vector<void*> taken_;
};

// A stream of its own that does not wait for the default one.
class TestStream {
 public:
  TestStream() { check("test", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~TestStream() { cudaStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;

  cudaStream_t get() const { return stream_; }
  Place place() const { return {.device = 0, .stream = stream_}; }

  // Captures what `work` queues and runs it `times` times.
  template <class Work>
  void run_captured(int times, const Work& work) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    check("test", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    work();
    check("test", cudaStreamEndCapture(stream_, &graph));
    check("test", cudaGraphInstantiate(&runnable, graph, 0));
    for (int i = 0; i < times; ++i) check("test", cudaGraphLaunch(runnable, stream_));
    check("test", cudaStreamSynchronize(stream_));
    cudaGraphExecDestroy(runnable);
    cudaGraphDestroy(graph);
  }

  // Milliseconds that the GPU spends on what `work` queues.
  template <class Work>
  double milliseconds(const Work& work) {
    cudaEvent_t start = nullptr;
    cudaEvent_t stop = nullptr;
    check("test", cudaEventCreate(&start));
    check("test", cudaEventCreate(&stop));
    check("test", cudaEventRecord(start, stream_));
    work();
    check("test", cudaEventRecord(stop, stream_));
    check("test", cudaEventSynchronize(stop));
    float time = 0;
    check("test", cudaEventElapsedTime(&time, start, stop));
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return time;
  }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace nibble::cuda
