// SPDX-License-Identifier: Apache-2.0
// The text of one layer taken apart: its type, then keys with values and paths of data, by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline foreign {

struct LayerEntry {
  std::string key;
  std::string value;
  std::string path;  // of the '!' line that follows; empty: none
  unsigned line = 0;
};

struct LayerRecord {
  std::string source;  // names the file in errors
  std::string type;
  std::vector<LayerEntry> entries;

  const LayerEntry* find(std::string_view key) const;

  // "[layer_directory] SOURCE:LINE: KEY: got X, expected Y"; line 1 where the key is not there.
  [[noreturn]] void fail(std::string_view key, std::string_view got,
                         std::string_view expected) const;
  // The same about the path of the key's data, which stands on the next line.
  [[noreturn]] void fail_path(std::string_view key, std::string_view got,
                              std::string_view expected) const;
};

// Lines end in LF or CR LF. No key comes twice.
LayerRecord parse_record(std::string_view text, const std::string& source);

inline constexpr std::string_view kLineEnd = "\r\n";  // of what is written

}  // namespace nibble::inline foreign
