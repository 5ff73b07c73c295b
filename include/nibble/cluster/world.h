// SPDX-License-Identifier: Apache-2.0
// The processes that mpirun started with this one.
#pragma once

#include "nibble/cluster/communicator.h"

namespace nibble::inline cluster {

// One process alone where no launcher is recognized by its environment variables, and then MPI is
// never initialized. The first call initializes it, exit finalizes it. An Error where a launcher
// started several processes that cannot form a world.
Communicator& world();

// Ends all processes of the world with this exit code, since others may wait for this one; returns
// where MPI does not run. After world() an exit with a code other than 0 does the same by itself,
// so ranks that agree to end with such a code meet at a barrier() first.
void abort_world(int code);

}  // namespace nibble::inline cluster
