// SPDX-License-Identifier: Apache-2.0
// A fuzz target is a function of bytes: `NIBBLE_FUZZ_TARGET(npy) { … return 0; }` in a file
// X_fuzz.cpp, with `data` and `size`. It returns 0, and aborts where a promise is broken.
//
// Targets are found by name. The short runs of `make test` link all of them into one program; under
// libFuzzer each is a program of its own, compiled with its name as NIBBLE_FUZZ_PROGRAM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace nibble {

using FuzzTarget = int(const std::uint8_t* data, std::size_t size);

inline std::map<std::string, FuzzTarget*, std::less<>>& fuzz_targets() {
  static std::map<std::string, FuzzTarget*, std::less<>> targets;
  return targets;
}

}  // namespace nibble

#define NIBBLE_FUZZ_TARGET(name)                                      \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size); \
  [[maybe_unused]] static const bool is_##name##_listed =             \
      nibble::fuzz_targets().emplace(#name, fuzz_##name).second;      \
  static int fuzz_##name([[maybe_unused]] const std::uint8_t* data,   \
                         [[maybe_unused]] std::size_t size)

#ifdef NIBBLE_FUZZ_PROGRAM
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static nibble::FuzzTarget* const target = nibble::fuzz_targets().at(NIBBLE_FUZZ_PROGRAM);
  return target(data, size);
}
#endif
