// SPDX-License-Identifier: Apache-2.0
// The options of the device that pretends.
#include <array>
#include <cstdlib>

#include "backend/pretend/pretend_backend.h"
#include "core/number_list.h"

namespace nibble::inline backend {
namespace {

auto numbers_of(PretendOptions& options) {
  auto& [pinned, pageable, mapped] = options.more;
  return std::to_array<NamedNumber>({{"copy_us", &options.copies.microseconds},
                                     {"ps_a_byte", &options.copies.picoseconds_a_byte},
                                     {"pinned_us", &pinned.microseconds},
                                     {"pinned_ps_a_byte", &pinned.picoseconds_a_byte},
                                     {"pageable_us", &pageable.microseconds},
                                     {"pageable_ps_a_byte", &pageable.picoseconds_a_byte},
                                     {"mapped_us", &mapped.microseconds},
                                     {"mapped_ps_a_byte", &mapped.picoseconds_a_byte},
                                     {"slowdown", &options.slowdown},
                                     {"lost_after", &options.lost_after},
                                     {"memory", &options.memory}});
}

}  // namespace

PretendOptions parse_pretend(std::string_view text) {
  PretendOptions options;
  read_numbers("NIBBLE_PRETEND", text, numbers_of(options));
  return options;
}

std::string pretend_identity(PretendOptions options) {
  std::string text = "pretend";
  for (const NamedNumber& each : numbers_of(options))
    text.append(" ").append(each.name).append("=").append(std::to_string(*each.number));
  return text;
}

PretendOptions pretend_options() {
  const char* text = std::getenv("NIBBLE_PRETEND");
  return text == nullptr ? PretendOptions{} : parse_pretend(text);
}

}  // namespace nibble::inline backend
