// SPDX-License-Identifier: Apache-2.0
// The sizes of batches that all lanes of an engine have recorded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nibble::inline engine {

// The kMost sizes that were met last; a further one takes the place of the least recent.
class BatchSizes {
 public:
  static constexpr std::size_t kMost = 256;

  BatchSizes() { sizes_.reserve(kMost); }

  bool has(std::int64_t images) const { return std::ranges::find(sizes_, images) != sizes_.end(); }
  // True: it is new.
  bool meet(std::int64_t images) {
    const auto known = std::ranges::find(sizes_, images);
    if (known != sizes_.end()) {
      std::rotate(known, known + 1, sizes_.end());
      return false;
    }
    if (sizes_.size() == kMost) sizes_.erase(sizes_.begin());
    sizes_.push_back(images);
    ++version_;
    return true;
  }
  std::span<const std::int64_t> all() const { return sizes_; }
  // Another one, other sizes: their order has none.
  std::uint64_t version() const { return version_; }

 private:
  std::vector<std::int64_t> sizes_;  // the least recent first
  std::uint64_t version_ = 0;
};

}  // namespace nibble::inline engine
