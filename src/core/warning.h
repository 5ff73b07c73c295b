// SPDX-License-Identifier: Apache-2.0
// What is no error and should still be said: kept until the program asks for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline core {

void warn(std::string_view text);  // one line; each is kept once, and no more than a few

// In the order they came, and gone. The nibble command prints them on standard error when it has
// done its work; a failure stays one line.
std::vector<std::string> take_warnings();

}  // namespace nibble::inline core
