// SPDX-License-Identifier: Apache-2.0
// The warnings of a process.
#include "core/warning.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace nibble::inline core {
namespace {

constexpr std::size_t kMostWarnings = 16;
std::mutex warnings_mutex;

std::vector<std::string>& warnings() {
  static std::vector<std::string> list;
  return list;
}

}  // namespace

void warn(std::string_view text) {
  const std::lock_guard lock(warnings_mutex);
  std::vector<std::string>& list = warnings();
  if (list.size() < kMostWarnings && std::ranges::find(list, text) == list.end())
    list.emplace_back(text);
}

std::vector<std::string> take_warnings() {
  const std::lock_guard lock(warnings_mutex);
  return std::exchange(warnings(), {});
}

}  // namespace nibble::inline core
