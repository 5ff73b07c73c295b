// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU.
#include "backend/cuda/device_pool.h"

#include <algorithm>
#include <string>

#include "cuda/errors.h"

namespace nibble::cuda {
namespace {

std::string mebibytes(std::size_t bytes) {
  return std::to_string((bytes >> 20) + 1) + " MiB";
}

}  // namespace

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  loan_ = std::exchange(other.loan_, {});
  return *this;
}

void DeviceBuffer::release() {
  if (data_ != nullptr) pool_->give_back({data_, loan_});
  data_ = nullptr;
}

DevicePool::~DevicePool() {
  for (const auto& [data, size] : all_) cudaFree(data);
}

void* DevicePool::allocate(std::size_t size) {
  const DeviceGuard guard(place_);
  void* data = nullptr;
  if (const cudaError_t result = cudaMalloc(&data, size); result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t left = 0;
    std::size_t all = 0;
    cudaMemGetInfo(&left, &all);
    throw Error("cuda", "memory", mebibytes(left) + " left of " + mebibytes(all),
                mebibytes(size) + " more for " + purpose_, ErrorKind::memory);
  } else {
    check("cuda", result);
  }
  all_.emplace(data, size);
  held_ += size;
  return data;
}

DeviceBuffer DevicePool::take(std::size_t bytes) {
  constexpr std::size_t kGranule = BufferPlan::kAlignment;
  const std::size_t size = std::max((bytes + kGranule - 1) / kGranule, std::size_t{1}) * kGranule;
  const BufferPlan::Loan loan = plan_.take(size);
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  if (loan.place) return {this, static_cast<std::byte*>(planned_) + *loan.place, loan};
  std::set<void*>& ready = free_[size];
  try {
    return {this, ready.empty() ? allocate(size) : ready.extract(ready.begin()).value(), loan};
  } catch (...) {
    in_use_ -= size;
    plan_.give(loan);
    throw;
  }
}

void DevicePool::free_spare() {
  const DeviceGuard guard(place_);
  for (const auto& [size, buffers] : std::exchange(free_, {})) {
    for (void* each : buffers) {
      check("cuda", cudaFree(each));
      held_ -= size;
      all_.erase(each);
    }
  }
}

void DevicePool::free_planned() {
  if (planned_ != nullptr) free_[planned_bytes_].insert(planned_);
  planned_ = nullptr;
  planned_bytes_ = 0;
}

void DevicePool::find_places() {
  plan_.find_places();
  const bool is_larger = plan_.bytes() > planned_bytes_;
  if (is_larger) free_planned();
  free_spare();
  if (!is_larger) return;
  try {
    planned_ = allocate(plan_.bytes());
  } catch (const Error&) {
    plan_.forget();
    throw;
  }
  planned_bytes_ = plan_.bytes();
}

void DevicePool::trim() {
  plan_.forget();
  if (!plan_.has_places_on_loan()) free_planned();
  free_spare();
}

void DevicePool::give_back(const Lent& lent) {
  if (keeps_back_) {
    kept_back_.push_back(lent);
    return;
  }
  in_use_ -= lent.loan.bytes;
  plan_.give(lent.loan);
  if (!lent.loan.place) free_[lent.loan.bytes].insert(lent.data);
}

void DevicePool::lend_again() {
  keeps_back_ = false;
  for (const Lent& each : std::exchange(kept_back_, {})) give_back(each);
}

}  // namespace nibble::cuda
