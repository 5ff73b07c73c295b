// SPDX-License-Identifier: Apache-2.0
// The one exception type: a single line that says where, what, what was got and what was expected.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nibble {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  // "[op] what: got X, expected Y"
  Error(std::string_view op, std::string_view what, std::string_view got,
        std::string_view expected);

  // "[op] what", where nothing can be compared.
  Error(std::string_view op, std::string_view what);
};

}  // namespace nibble
