// SPDX-License-Identifier: Apache-2.0
// Who started this process, and the world that follows from it.
#pragma once

#include <optional>

#include "nibble/cluster/communicator.h"

namespace nibble::inline cluster {

// How many processes mpirun or a scheduler started together with this one, from the environment
// alone; 0: it does not say.
std::optional<int> launched_processes();

// The world of those.
Communicator& mpi_world(int launched);

// That of start_ranks; null: it was not called, or for one rank.
Communicator* started_world();

}  // namespace nibble::inline cluster
