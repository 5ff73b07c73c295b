// SPDX-License-Identifier: Apache-2.0
// For tests: integers for the engine, and its answers as integers.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "graph/test_naive_examples.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// Those on which networks made by hand are tested; a program for GPUs puts its own here.
inline std::vector<std::string>& tested_devices() {
  static std::vector<std::string> devices = {"cpu"};
  return devices;
}

inline std::vector<std::byte> as_bytes(const ValueInfo& info, const Integers& numbers) {
  std::vector<std::byte> bytes(numbers.size() * size_of(info.dtype));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto word = static_cast<std::int32_t>(numbers[i] + info.zero);
    std::memcpy(&bytes[i * size_of(info.dtype)], &word, size_of(info.dtype));
  }
  return bytes;
}

inline Integers answers_of(const Engine& engine, const Integers& input, std::int64_t batch) {
  std::vector<std::byte> output(engine.output().bytes * static_cast<std::size_t>(batch));
  engine.run(as_bytes(engine.input(), input), batch, output);
  return as_integers(engine.output(), output);
}

}  // namespace nibble::inline engine
