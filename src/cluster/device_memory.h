// SPDX-License-Identifier: Apache-2.0
// Which way numbers of a GPU take to ranks that MPI started: as they lie, where the library takes
// pointers to a GPU's memory, or by way of the host's.
#pragma once

#include <optional>

namespace nibble::inline cluster {

// NIBBLE_MPI_DEVICE: 1 or 0; none where it is not set.
std::optional<bool> asked_for_device_memory();

// Ranks that share the host's memory need no message, so that nothing is gained by the GPU's unless
// it is asked for. An Error where it is and the library takes none.
bool uses_device_memory(std::optional<bool> asked, bool mpi_takes_it, bool ranks_share_memory);

}  // namespace nibble::inline cluster
