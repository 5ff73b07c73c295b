// SPDX-License-Identifier: Apache-2.0
// Tar archives for tests.
#pragma once

#include <cstdio>
#include <string>

namespace nibble::inline data {

inline std::string octal_text(unsigned value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "%0*o", digits, value);
  return text;
}

inline std::string tar_header(const std::string& name, const std::string& size, char kind,
                              const std::string& prefix = "") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block.replace(148, 8, "        ");
  block[156] = kind;
  block.replace(257, 8, std::string("ustar\00000", 8));
  block.replace(345, prefix.size(), prefix);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  block.replace(148, 7, octal_text(sum, 6) + '\0');
  return block;
}

inline std::string tar_file(const std::string& name, const std::string& data, char kind = '0',
                            const std::string& prefix = "") {
  const std::string padding((512 - data.size() % 512) % 512, '\0');
  return tar_header(name, octal_text(static_cast<unsigned>(data.size()), 11), kind, prefix) + data +
         padding;
}

inline const std::string kTarEnd(1024, '\0');

}  // namespace nibble::inline data
