// SPDX-License-Identifier: Apache-2.0
// Takes the place of http.cpp in a build without libcurl: nothing is downloaded.
#include "data/http.h"
#include "nibble/core/error.h"

namespace nibble::inline data {

bool has_http() {
  return false;
}

std::vector<std::byte> http_get(const HttpRequest& request) {
  throw Error("download", request.address + ": this build has no libcurl", ErrorKind::system);
}

}  // namespace nibble::inline data
