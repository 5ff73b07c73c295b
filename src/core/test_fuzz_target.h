// SPDX-License-Identifier: Apache-2.0
// A fuzz target is a function of bytes: `NIBBLE_FUZZ_TARGET(npy) { … return 0; }` in npy_fuzz.cpp,
// with `data` and `size`. It returns 0, and aborts where a promise is broken.
//
// Under libFuzzer each target is a program of its own, which calls it by libFuzzer's name. The
// short runs of `make test` link all of them into one program (NIBBLE_ALL_FUZZ_TARGETS), where they
// are found by theirs.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef NIBBLE_ALL_FUZZ_TARGETS

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

#else

#define NIBBLE_FUZZ_TARGET(name) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)

#endif
