// SPDX-License-Identifier: Apache-2.0
// Devices of a build without the CUDA toolkit: none.
#include "nibble/cuda/device.h"

#include "cuda/driver.h"
#include "cuda/stub/absent.h"
#include "cuda/upload.h"

namespace nibble::cuda {

bool is_built() {
  return false;
}

int device_count() {
  return 0;
}

std::string why_no_device() {
  return "this build has no CUDA";
}

std::string identity_of(int) {
  refuse_without_cuda("cuda");
}

DeviceGuard::DeviceGuard(const Place&) {
  refuse_without_cuda("cuda");
}

DeviceGuard::DeviceGuard(const Place&, std::nothrow_t) noexcept {}

DeviceGuard::~DeviceGuard() = default;

void wait_for(const Place&) {
  refuse_without_cuda("cuda");
}

void check_launch(const char* op) {
  refuse_without_cuda(op);
}

int multiprocessors(int) {
  refuse_without_cuda("cuda");
}

void upload(void*, const void*, std::size_t, const Place&) {
  refuse_without_cuda("upload");
}

bool has_kernels(int) {
  return false;
}

}  // namespace nibble::cuda
