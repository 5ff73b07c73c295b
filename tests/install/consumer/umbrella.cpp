// SPDX-License-Identifier: Apache-2.0
// All that is public, by one include: twice, and with the header for C programs beside it.
#include <nibble/nibble.hpp>

#include <nibble.h>

int main() {
  const nibble::Format format = nibble::parse_format("e4m3");
  const nibble::QuantizeSettings settings;
  return nibble::to_string(format) == "e4m3" && settings.bits.weights == 8 ? 0 : 1;
}
