// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU.
#include "backend/cuda/device_pool.h"

#include <algorithm>
#include <string>

#include "cuda/errors.h"

namespace nibble::cuda {
namespace {

constexpr std::size_t kGranule = 256;

std::string mebibytes(std::size_t bytes) {
  return std::to_string((bytes >> 20) + 1) + " MiB";
}

}  // namespace

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void DeviceBuffer::release() {
  if (data_ != nullptr) pool_->give_back(data_, size_);
  data_ = nullptr;
}

DevicePool::~DevicePool() {
  for (void* each : all_) cudaFree(each);
}

DeviceBuffer DevicePool::take(std::size_t bytes) {
  const std::size_t size = std::max((bytes + kGranule - 1) / kGranule, std::size_t{1}) * kGranule;
  std::set<void*>& ready = free_[size];
  if (!ready.empty()) {
    count(size);
    return {this, ready.extract(ready.begin()).value(), size};
  }
  const DeviceGuard guard(place_);
  void* data = nullptr;
  if (const cudaError_t result = cudaMalloc(&data, size); result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t left = 0;
    std::size_t all = 0;
    cudaMemGetInfo(&left, &all);
    throw Error("cuda", "memory", mebibytes(left) + " left of " + mebibytes(all),
                mebibytes(size) + " more for " + purpose_, ErrorKind::device);
  } else {
    check("cuda", result);
  }
  all_.push_back(data);
  count(size);
  return {this, data, size};
}

void DevicePool::trim() {
  const DeviceGuard guard(place_);
  for (const auto& [size, buffers] : std::exchange(free_, {})) {
    for (void* each : buffers) {
      check("cuda", cudaFree(each));
      std::erase(all_, each);
    }
  }
}

void DevicePool::count(std::size_t size) {
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
}

void DevicePool::give_back(void* data, std::size_t size) {
  if (keeps_back_) {
    kept_back_.emplace_back(data, size);
    return;
  }
  in_use_ -= size;
  free_[size].insert(data);
}

void DevicePool::lend_again() {
  keeps_back_ = false;
  for (const auto& [data, size] : std::exchange(kept_back_, {})) give_back(data, size);
}

}  // namespace nibble::cuda
