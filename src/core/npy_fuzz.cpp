// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either parse as .npy or throw Error; what parses survives a round trip.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <string>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"

NIBBLE_FUZZ_TARGET(npy) {
  using namespace nibble;
  try {
    const NpyHeader header = parse_npy_header(std::as_bytes(std::span(data, size)), "fuzz");
    if (header.data_offset > size) std::abort();
  } catch (const Error&) {
  }
  try {
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    const Tensor first = read_npy(in, "fuzz");
    std::stringstream copy;
    write_npy(copy, first.view());
    const Tensor second = read_npy(copy, "copy");
    if (first.shape() != second.shape() || first.dtype() != second.dtype()) std::abort();
    if (std::memcmp(first.data(), second.data(), first.bytes()) != 0) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
