// SPDX-License-Identifier: Apache-2.0
// Reads and writes names of devices.
#include "core/device_name.h"

#include <charconv>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr std::string_view kCheckStart = "check(";
constexpr int kMostDevices = 1024;

[[noreturn]] void refuse_device(std::string_view text) {
  throw Error("device", "name", text, "cpu, reference, cuda, cuda:N or check(cpu,reference)",
              ErrorKind::usage);
}

}  // namespace

std::string DeviceName::to_string() const {
  if (!both.empty()) return "check(" + both[0].to_string() + "," + both[1].to_string() + ")";
  return index == 0 ? kind : kind + ":" + std::to_string(index);
}

DeviceName parse_device(std::string_view text) {
  if (text.starts_with(kCheckStart)) {
    const std::size_t comma = text.find(',');
    if (!text.ends_with(')') || comma == std::string_view::npos) refuse_device(text);
    const std::string_view first = text.substr(kCheckStart.size(), comma - kCheckStart.size());
    const std::string_view second = text.substr(comma + 1, text.size() - comma - 2);
    if (first.starts_with(kCheckStart) || second.starts_with(kCheckStart)) refuse_device(text);
    return {.kind = "check", .both = {parse_device(first), parse_device(second)}};
  }
  for (const std::string_view kind : {"cpu", "reference", "cuda", "pretend"}) {
    if (text == kind) return {.kind = std::string(kind)};
  }
  constexpr std::string_view kCuda = "cuda:";
  if (!text.starts_with(kCuda)) refuse_device(text);
  DeviceName name{.kind = "cuda"};
  const auto [end, error] =
      std::from_chars(text.data() + kCuda.size(), text.data() + text.size(), name.index);
  if (error != std::errc() || end != text.data() + text.size() || name.index < 0 ||
      name.index >= kMostDevices) {
    refuse_device(text);
  }
  return name;
}

}  // namespace nibble::inline core
