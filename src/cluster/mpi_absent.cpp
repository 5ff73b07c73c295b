// SPDX-License-Identifier: Apache-2.0
// Takes the place of mpi.cpp in a build without MPI: several launched processes are refused, since
// each would take itself for the only one and write the same run.
#include "cluster/launcher.h"
#include "cluster/local.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"

namespace nibble::inline cluster {

Communicator& mpi_world(int launched) {
  if (launched != 1) {
    throw Error("mpi", "this build has no MPI; start one process, without mpirun");
  }
  return local_communicator();
}

bool mpi_takes_device_memory() {
  return false;
}

void abort_world(int) {}

}  // namespace nibble::inline cluster
