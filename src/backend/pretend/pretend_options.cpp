// SPDX-License-Identifier: Apache-2.0
// The options of the device that pretends.
#include <charconv>
#include <cstdlib>
#include <string>

#include "backend/pretend/pretend_backend.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

std::int64_t* option_named(PretendOptions& options, std::string_view name) {
  if (name == "copy_us") return &options.copy_microseconds;
  if (name == "ps_a_byte") return &options.copy_picoseconds_a_byte;
  if (name == "slowdown") return &options.slowdown;
  if (name == "lost_after") return &options.lost_after;
  return nullptr;
}

}  // namespace

PretendOptions parse_pretend(std::string_view text) {
  PretendOptions options;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    std::int64_t* option = option_named(options, item.substr(0, equals));
    const char* end = item.data() + item.size();
    std::int64_t value = -1;
    if (equals < item.size()) {
      const auto read = std::from_chars(item.data() + equals + 1, end, value);
      if (read.ec != std::errc() || read.ptr != end) value = -1;
    }
    if (option == nullptr || value < 0 || value > 1'000'000'000)
      throw Error("pretend", "NIBBLE_PRETEND", item,
                  "copy_us=N, ps_a_byte=N, slowdown=N, lost_after=N");
    *option = value;
  }
  return options;
}

PretendOptions pretend_options() {
  const char* text = std::getenv("NIBBLE_PRETEND");
  return text == nullptr ? PretendOptions{} : parse_pretend(text);
}

}  // namespace nibble::inline backend
