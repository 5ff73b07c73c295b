// SPDX-License-Identifier: Apache-2.0
// Who computes, by name: "cpu", "reference", "cuda", "cuda:1", "check(cpu,reference)"; "pretend" is
// an accelerator for tests, made of the CPU. Whoever brings another one adds its kind.
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

// From here on KIND and KIND:N are names, which registries of those who compute say; not beside
// threads that read names. Throws where it is no word: a letter, then letters, digits, - or _.
void add_device_kind(const std::string& kind);

// Throws where the text is none of these; whether there is such a device is not its question.
DeviceName parse_device(std::string_view text);

}  // namespace nibble::inline core
