// SPDX-License-Identifier: Apache-2.0
// Reads places of auto.
#include "placement/auto_place.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/device_name.h"
#include "nibble/core/error.h"
#include "nibble/cuda/device.h"

namespace nibble::inline placement {
namespace {

constexpr std::string_view kWithin = " within ";
constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
    {"", 1 << 20},    {"KB", 1000},     {"MB", 1'000'000}, {"GB", 1'000'000'000},
    {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
constexpr std::int64_t kMostOfAUnit = 1 << 20;

std::int64_t bytes_of(std::string_view text) {
  std::int64_t count = -1;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  const std::string_view word(read.ptr, static_cast<std::size_t>(end - read.ptr));
  const auto unit =
      std::ranges::find(kUnits, word, &std::pair<std::string_view, std::int64_t>::first);
  if (read.ec != std::errc() || count < 0 || count > kMostOfAUnit || unit == std::end(kUnits))
    throw Error("place", "memory", text, "a size such as 2GB, 512MiB, or a number of MiB",
                ErrorKind::usage);
  return count * unit->second;
}

std::array<std::string, 2> devices_of(std::string_view text) {
  if (text == "auto") return {"cpu", cuda::device_count() > 0 ? "cuda" : "cpu"};
  const std::string_view inner = text.substr(5, text.size() - 6);
  const std::size_t comma = inner.find(',');
  const auto name = [](std::string_view part) {
    const std::size_t begin = std::min(part.find_first_not_of(' '), part.size());
    return parse_device(part.substr(begin, part.find_last_not_of(' ') + 1 - begin)).to_string();
  };
  if (comma == std::string_view::npos || inner.find(',', comma + 1) != std::string_view::npos)
    throw Error("place", "auto", text, "auto, or two devices: auto(cpu,cuda)");
  return {name(inner.substr(0, comma)), name(inner.substr(comma + 1))};
}

}  // namespace

AutoPlace parse_auto(std::string_view place) {
  const std::size_t limit = place.find(kWithin);
  AutoPlace found{.devices = devices_of(place.substr(0, limit))};
  if (limit != std::string_view::npos)
    found.most_memory = bytes_of(place.substr(limit + kWithin.size()));
  return found;
}

}  // namespace nibble::inline placement
