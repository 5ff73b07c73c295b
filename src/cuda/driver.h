// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's driver tells of itself and of the GPUs that it drives, which of them this build has
// kernels for, and GPUs by name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::cuda {

struct Driver {
  std::string version;  // empty: no driver is loaded
  std::vector<std::string> gpus;
};

Driver loaded_driver(const std::filesystem::path& folder = "/proc/driver/nvidia");

// Why the runtime finds no GPU, in its words; empty where there is one.
std::string why_no_device();

// Which GPU that is, and by which driver: "NVIDIA H200 GPU-0123456789abcdef0123456789abcdef, driver
// 570.124.06, CUDA 12.8". Throws where there is no such GPU.
std::string identity_of(int device);

// What the environment forces GPUs to, " (NIBBLE_CUDA_WIRE=pageable)"; empty: nothing.
std::string forced_settings();

// All that the speed of a GPU depends on: identity_of(), its multiprocessors and what is forced.
std::string hardware_of(int device);

// Whether this build has machine code that the device runs.
bool has_kernels(int device);

// The number of "cuda" (0) or "cuda:1" (1); throws where there is no such GPU.
int usable_device(std::string_view name);

}  // namespace nibble::cuda
