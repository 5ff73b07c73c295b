// SPDX-License-Identifier: Apache-2.0
// The names of the packages that can be reproduced.
#include "nibble/numerics/compat.h"

#include <string>

#include "nibble/core/error.h"
#include "numerics/words.h"

namespace nibble::inline numerics {
namespace {

constexpr Words<Compat, 4> kNames = {{{Compat::none, "none"},
                                      {Compat::qtorch, "qtorch"},
                                      {Compat::qtorch_bits, "qtorch-bits"},
                                      {Compat::qtorch_plus, "qtorch+"}}};

}  // namespace

Compat parse_compat(std::string_view text) {
  if (const auto compat = value_of(kNames, text)) return *compat;
  throw Error("compat", "unknown package", "'" + std::string(text) + "'", list_of(kNames));
}

std::string_view to_string(Compat compat) {
  return word_of(kNames, compat);
}

}  // namespace nibble::inline numerics
