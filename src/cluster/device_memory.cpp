// SPDX-License-Identifier: Apache-2.0
// What was asked for, and what follows from it.
#include "cluster/device_memory.h"

#include <cstdlib>
#include <string_view>

#include "nibble/core/error.h"

namespace nibble::inline cluster {

std::optional<bool> asked_for_device_memory() {
  const char* text = std::getenv("NIBBLE_MPI_DEVICE");
  if (text == nullptr) return std::nullopt;
  const std::string_view asked = text;
  if (asked != "0" && asked != "1") throw Error("mpi", "NIBBLE_MPI_DEVICE", asked, "0 or 1");
  return asked == "1";
}

bool uses_device_memory(std::optional<bool> asked, bool mpi_takes_it, bool ranks_share_memory) {
  if (asked.value_or(false) && !mpi_takes_it) {
    throw Error("mpi", "NIBBLE_MPI_DEVICE", "1",
                "0: this MPI takes no pointers to a GPU's memory (nibble doctor)");
  }
  return asked.value_or(mpi_takes_it && !ranks_share_memory);
}

}  // namespace nibble::inline cluster
