// SPDX-License-Identifier: Apache-2.0
// Devices by the CUDA runtime.
#include "nibble/cuda/device.h"

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "cuda/driver.h"
#include "cuda/errors.h"

namespace nibble::cuda {

bool is_built() {
  return true;
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // a missing driver is no error of a later launch
  return 0;
}

std::string why_no_device() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (result != cudaSuccess) return cudaGetErrorString(result);
  return count == 0 ? "no GPU" : "";
}

std::string identity_of(int device) {
  cudaDeviceProp properties{};
  check("cuda", cudaGetDeviceProperties(&properties, device));
  int version = 0;
  check("cuda", cudaDriverGetVersion(&version));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = std::string(properties.name) + " GPU-";
  for (const char each : properties.uuid.bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text + ", driver " + loaded_driver().version + ", CUDA " + std::to_string(version / 1000) +
         "." + std::to_string(version % 1000 / 10);
}

DeviceGuard::DeviceGuard(const Place& place) {
  check("cuda", cudaGetDevice(&previous_));
  if (place.device == previous_) {
    previous_ = -1;
    return;
  }
  check("cuda", cudaSetDevice(place.device));
}

DeviceGuard::DeviceGuard(const Place& place, std::nothrow_t) noexcept {
  const bool is_known = cudaGetDevice(&previous_) == cudaSuccess;
  if (is_known && place.device != previous_ && cudaSetDevice(place.device) == cudaSuccess) return;
  if (!is_known || place.device != previous_) cudaGetLastError();
  previous_ = -1;
}

DeviceGuard::~DeviceGuard() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

void wait_for(const Place& place) {
  const DeviceGuard guard(place);
  check("cuda", cudaStreamSynchronize(static_cast<cudaStream_t>(place.stream)));
}

void check_launch(const char* op) {
  check(op, cudaGetLastError());
}

int multiprocessors(int device) {
  constexpr std::size_t kRemembered = 64;
  static std::array<std::atomic<int>, kRemembered> known{};
  const auto index = static_cast<std::size_t>(device);
  if (index < kRemembered && known[index] > 0) return known[index];
  int count = 0;
  check("cuda", cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  if (index < kRemembered) known[index] = count;
  return count;
}

}  // namespace nibble::cuda
