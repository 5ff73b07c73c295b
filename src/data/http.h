// SPDX-License-Identifier: Apache-2.0
// One file from a server, with libcurl where the build has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nibble::inline data {

bool has_http();

struct HttpRequest {
  std::string address;
  std::size_t most_bytes = 0;     // a longer answer is an error
  bool is_local_allowed = false;  // http on localhost, 127.0.0.1 and [::1] beside https
  std::function<bool(std::uint64_t received, std::uint64_t total)> on_progress;  // false: stop
};

// Throws "[download] ADDRESS: why".
std::vector<std::byte> http_get(const HttpRequest& request);

}  // namespace nibble::inline data
