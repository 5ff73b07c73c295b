// SPDX-License-Identifier: Apache-2.0
// Reads and writes names of devices.
#include "core/device_name.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/name.h"
#include "core/nearest_name.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr std::string_view kCheck = "check";
constexpr std::string_view kCheckStart = "check(";
constexpr std::string_view kAuto = "auto";  // what places of auto begin with
constexpr int kMostDevices = 1024;

struct DeviceKind {
  std::string name;
  bool is_numbered = true;  // there may be several
};

// Others come behind these.
std::vector<DeviceKind>& device_kinds() {
  static std::vector<DeviceKind> kinds = {
      {"cpu", false}, {"reference", false}, {"pretend", false}, {"cuda"}};
  return kinds;
}

[[noreturn]] void refuse_device(std::string_view text) {
  const std::vector<DeviceKind>& kinds = device_kinds();
  std::string expected = "cpu, reference, cuda, cuda:N";
  const auto cuda = std::ranges::find(kinds, "cuda", &DeviceKind::name);
  for (auto added = cuda + 1; added != kinds.end(); ++added) expected += ", " + added->name;
  expected += " or check(cpu,reference)";
  std::vector<std::string> names;
  for (const DeviceKind& kind : kinds) {
    if (kind.name != "cpu") names.push_back(kind.name);  // which gpu is not a slip for
  }
  throw Error("device", "name", text, expected + perhaps(text, names), ErrorKind::usage);
}

int index_of(std::string_view digits, std::string_view text) {
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0 ||
      index >= kMostDevices)
    refuse_device(text);
  return index;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::ranges::all_of(text, [](unsigned char letter) {
           return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
         });
}

}  // namespace

std::string DeviceName::to_string() const {
  if (!both.empty()) return "check(" + both[0].to_string() + "," + both[1].to_string() + ")";
  return index == 0 ? kind : kind + ":" + std::to_string(index);
}

void add_device_kind(const std::string& kind) {
  if (!is_word(kind) || kind == kCheck || kind == kAuto)
    throw Error("device", "kind", in_quotes(kind),
                "a letter, then letters, digits, - or _, and neither auto nor check");
  std::vector<DeviceKind>& kinds = device_kinds();
  if (std::ranges::find(kinds, kind, &DeviceKind::name) == kinds.end()) kinds.push_back({kind});
}

DeviceName parse_device(std::string_view text) {
  if (text.starts_with(kCheckStart)) {
    const std::size_t comma = text.find(',');
    if (!text.ends_with(')') || comma == std::string_view::npos) refuse_device(text);
    const std::string_view first = text.substr(kCheckStart.size(), comma - kCheckStart.size());
    const std::string_view second = text.substr(comma + 1, text.size() - comma - 2);
    if (first.starts_with(kCheckStart) || second.starts_with(kCheckStart)) refuse_device(text);
    return {.kind = std::string(kCheck), .both = {parse_device(first), parse_device(second)}};
  }
  const std::size_t colon = text.find(':');
  const auto kind = std::ranges::find(device_kinds(), text.substr(0, colon), &DeviceKind::name);
  if (kind == device_kinds().end()) refuse_device(text);
  if (colon == std::string_view::npos) return {.kind = kind->name};
  if (!kind->is_numbered) refuse_device(text);
  return {.kind = kind->name, .index = index_of(text.substr(colon + 1), text)};
}

}  // namespace nibble::inline core
