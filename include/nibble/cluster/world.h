// SPDX-License-Identifier: Apache-2.0
// The processes that train together with this one: those that mpirun or start_ranks started.
#pragma once

#include "nibble/cluster/communicator.h"

namespace nibble::inline cluster {

// One process alone where no launcher is recognized by its environment variables, and then MPI is
// never initialized. The first call initializes it, exit finalizes it. An Error where a launcher
// started several processes that cannot form a world.
Communicator& world();

// Which of the world's processes on this machine this one is, from 0.
int local_rank();

inline constexpr int kMostRanks = 64;  // of start_ranks

// Starts so many processes on this machine, which share memory and need no MPI, and returns in each
// of them: they are the world from here on. The caller itself does not return: it waits, passes
// SIGINT and SIGTERM on, ends all ranks where one fails, and exits as rank 0 did or as the one that
// failed. Standard error of other ranks than 0 is shown where they failed alone. No thread may run.
void start_ranks(int count);

// Whether the MPI library takes pointers to a GPU's memory, as it says itself: at any time what it
// was built with, between the first world() and exit what it found.
bool mpi_takes_device_memory();

// Ends all processes of the world with this exit code, since others may wait for this one; returns
// where MPI does not run. After world() an exit with a code other than 0 does the same by itself,
// so ranks that agree to end with such a code meet at a barrier() first.
void abort_world(int code);

}  // namespace nibble::inline cluster
