// SPDX-License-Identifier: Apache-2.0
// Takes the place of inflate.cpp in a build without zlib: deflate data is refused.
#include "data/gunzip.h"
#include "nibble/core/error.h"

namespace nibble::inline data {

std::vector<std::byte> inflate_all(std::span<const std::byte>, std::size_t,
                                   const std::string& name) {
  throw Error("inflate", name + ": this build has no zlib; pack the arrays with numpy's savez",
              ErrorKind::system);
}

}  // namespace nibble::inline data
