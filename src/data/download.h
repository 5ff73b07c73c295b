// SPDX-License-Identifier: Apache-2.0
// Known data sets from the net: downloaded, checked, then written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/catalog.h"

namespace nibble::inline data {

// One file from a server, with libcurl where the build has it.

bool has_http();

struct HttpRequest {
  std::string address;
  std::size_t most_bytes = 0;     // a longer answer is an error
  bool is_local_allowed = false;  // http on localhost, 127.0.0.1 and [::1] beside https
  std::function<bool(std::uint64_t received, std::uint64_t total)> on_progress;  // false: stop
};

// Throws "[download] ADDRESS: why".
std::vector<std::byte> http_get(const HttpRequest& request);

// Where a known data set comes from: the address is a folder that ends in '/'.
struct DownloadSource {
  std::string address;
  std::vector<std::string> files;
};

// $NIBBLE_DATA_MIRROR/NAME/ takes the place of the address where it is set. No file: a data set
// that comes with Nibble.
DownloadSource download_source(std::string_view name);

bool can_download();  // false: this build has no libcurl

struct DownloadProgress {
  std::string_view file;
  std::uint64_t received = 0;
  std::uint64_t total = 0;  // 0: not known
};

// Downloads a known data set into data_folder()/NAME, which it returns; where NIBBLE_DATA_MIRROR is
// set, $NIBBLE_DATA_MIRROR/NAME/ takes the place of the address. Only HTTPS with a valid
// certificate is spoken; a mirror may also be http on this machine itself (localhost, 127.0.0.1,
// [::1]). Everything is held in memory until the decoded splits have the SHA-256 of the catalog,
// and only then written, each file under a temporary name first. `on_progress` returns false to
// stop.
std::filesystem::path download_dataset(
    const KnownDataset& known, const std::function<bool(const DownloadProgress&)>& on_progress);

}  // namespace nibble::inline data
