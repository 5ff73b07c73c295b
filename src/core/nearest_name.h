// SPDX-License-Identifier: Apache-2.0
// What a mistyped word was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nibble::inline core {

// The first of the names with the fewest letters changed, added, left out or swapped with their
// neighbour, if these are at most a third of the word's; else nothing.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

// ", perhaps NAME" for the end of an error, or nothing.
std::string perhaps(std::string_view word, std::span<const std::string> names);

}  // namespace nibble::inline core
