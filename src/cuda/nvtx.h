// SPDX-License-Identifier: Apache-2.0
// Ranges for Nsight: what the host is in, on the time line of the tool that runs the program.
#pragma once

namespace nibble::cuda {

// From here on the tool is told, where one is there.
void tell_nsight();

}  // namespace nibble::cuda
