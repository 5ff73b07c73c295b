// SPDX-License-Identifier: Apache-2.0
// GPUs by name.
#pragma once

#include <string_view>

namespace nibble::cuda {

// The number of "cuda" (0) or "cuda:1" (1); throws where there is no such GPU.
int usable_device(std::string_view name);

}  // namespace nibble::cuda
