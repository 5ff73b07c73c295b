// SPDX-License-Identifier: Apache-2.0
// A build without LoadGen.
#include "loadgen/run_load.h"
#include "nibble/core/error.h"

namespace nibble::inline loadgen {

bool has_loadgen() {
  return false;
}

LoadResult run_load(const LoadRunOptions&) {
  throw Error(
      "loadgen",
      "this build has no LoadGen: tools/setup loads it, -D NIBBLE_LOADGEN=DIR names another",
      ErrorKind::system);
}

}  // namespace nibble::inline loadgen
