// SPDX-License-Identifier: Apache-2.0
// The world, by the variables that launchers of MPI programs set.
#include "cluster/launcher.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "cluster/local.h"
#include "nibble/cluster/world.h"

namespace nibble::inline cluster {
namespace {

// 0 where it is no number from `least` on.
int number_in(const char* value, int least) {
  const std::string_view text = value;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number >= least ? number : 0;
}

}  // namespace

std::optional<int> launched_processes() {
  // Open MPI's mpirun; MPICH's, Intel's and Slurm's with PMI.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* value = std::getenv(name)) return number_in(value, 1);
  }
  // Slurm's srun --mpi=pmix gives the rank only.
  if (std::getenv("PMIX_RANK") != nullptr) return 0;
  return std::nullopt;
}

int local_rank() {
  if (Communicator* started = started_world()) return started->rank();
  // Open MPI's; MPICH's and Intel's; Slurm's. All on one machine where nobody says so.
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const char* value = std::getenv(name)) return number_in(value, 0);
  }
  return world().rank();
}

Communicator& world() {
  if (Communicator* started = started_world()) return *started;
  const std::optional<int> launched = launched_processes();
  return launched ? mpi_world(*launched) : local_communicator();
}

}  // namespace nibble::inline cluster
