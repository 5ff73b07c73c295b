// SPDX-License-Identifier: Apache-2.0
// Distances between words, by dynamic programming over their beginnings.
#include "core/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace nibble::inline core {
namespace {

// Of optimal string alignment: row i holds the distances of a's first i letters from all beginnings
// of b; a swap looks two rows back.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  std::string nearest;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t found = distance(word, name);
    if (found >= least) continue;
    least = found;
    nearest = name;
  }
  return nearest;
}

std::string perhaps(std::string_view word, std::span<const std::string> names) {
  const std::string nearest = nearest_name(word, names);
  return nearest.empty() ? "" : ", perhaps " + nearest;
}

}  // namespace nibble::inline core
