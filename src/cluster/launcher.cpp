// SPDX-License-Identifier: Apache-2.0
// The world, by the variables that launchers of MPI programs set.
#include "cluster/launcher.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "cluster/local.h"
#include "nibble/cluster/world.h"

namespace nibble::inline cluster {

std::optional<int> launched_processes() {
  // Open MPI's mpirun; MPICH's, Intel's and Slurm's with PMI.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text = value;
    int count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool is_count = error == std::errc() && end == text.data() + text.size() && count > 0;
    return is_count ? count : 0;
  }
  // Slurm's srun --mpi=pmix gives the rank only.
  if (std::getenv("PMIX_RANK") != nullptr) return 0;
  return std::nullopt;
}

Communicator& world() {
  if (Communicator* started = started_world()) return *started;
  const std::optional<int> launched = launched_processes();
  return launched ? mpi_world(*launched) : local_communicator();
}

}  // namespace nibble::inline cluster
