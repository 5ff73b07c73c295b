// SPDX-License-Identifier: Apache-2.0
// The options of the device that pretends.
#include <cstdlib>

#include "backend/pretend/pretend_backend.h"
#include "core/number_list.h"

namespace nibble::inline backend {
PretendOptions parse_pretend(std::string_view text) {
  PretendOptions options;
  const NamedNumber numbers[] = {{"copy_us", &options.copy_microseconds},
                                 {"ps_a_byte", &options.copy_picoseconds_a_byte},
                                 {"slowdown", &options.slowdown},
                                 {"lost_after", &options.lost_after},
                                 {"memory", &options.memory}};
  read_numbers("NIBBLE_PRETEND", text, numbers);
  return options;
}

PretendOptions pretend_options() {
  const char* text = std::getenv("NIBBLE_PRETEND");
  return text == nullptr ? PretendOptions{} : parse_pretend(text);
}

}  // namespace nibble::inline backend
