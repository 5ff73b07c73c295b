// SPDX-License-Identifier: Apache-2.0
// Bytes whose number a header promised, read without believing it too soon.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace nibble::inline data {

// take(span) fills as much as there is and gives the count. Memory grows with what arrives: at most
// twice the bytes seen, plus one piece. The result is shorter where the source ends early.
template <class Take>
std::vector<std::byte> read_promised(std::size_t size, const Take& take) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> data;
  while (data.size() < size) {
    const std::size_t seen = data.size();
    const std::size_t wanted = std::min(size - seen, std::max(seen, kPiece));
    data.resize(seen + wanted);
    const std::size_t got = take(std::span(data).subspan(seen));
    data.resize(seen + got);
    if (got < wanted) break;
  }
  return data;
}

}  // namespace nibble::inline data
