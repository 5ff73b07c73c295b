// SPDX-License-Identifier: Apache-2.0
// Who computes on integers, by name: "cpu", "reference", "cuda", "cuda:1", "check(cpu,reference)";
// "pretend" is an accelerator for tests, made of the CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline core {

struct DeviceName {
  std::string kind = "cpu";           // of a check: "check"
  int index = 0;                      // of several of a kind
  std::vector<DeviceName> both = {};  // that a check compares: two

  std::string to_string() const;
  bool operator==(const DeviceName&) const = default;
};

// Throws where the text is none of these; whether there is such a device is not its question.
DeviceName parse_device(std::string_view text);

}  // namespace nibble::inline core
