// SPDX-License-Identifier: Apache-2.0
// Dinic's algorithm: shortest ways first, all ways of one length at a time.
#include "placement/max_flow.h"

#include <algorithm>

namespace nibble::inline placement {

std::size_t MaxFlow::add_node() {
  first_.emplace_back();
  next_.push_back(0);
  level_.push_back(-1);
  return first_.size() - 1;
}

void MaxFlow::add_pipe(std::size_t from, std::size_t to, std::int64_t capacity) {
  first_[from].push_back(pipes_.size());
  pipes_.push_back({to, capacity});
  first_[to].push_back(pipes_.size());
  pipes_.push_back({from, 0});
}

bool MaxFlow::find_levels(std::size_t source, std::size_t sink) {
  std::ranges::fill(level_, -1);
  level_[source] = 0;
  std::vector<std::size_t> queue = {source};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::size_t pipe : first_[queue[i]]) {
      const auto& [to, left] = pipes_[pipe];
      if (left == 0 || level_[to] >= 0) continue;
      level_[to] = level_[queue[i]] + 1;
      queue.push_back(to);
    }
  }
  return level_[sink] >= 0;
}

std::int64_t MaxFlow::push(std::size_t node, std::size_t sink, std::int64_t most) {
  if (node == sink) return most;
  for (std::size_t& i = next_[node]; i < first_[node].size(); ++i) {
    const std::size_t pipe = first_[node][i];
    const auto [to, left] = pipes_[pipe];
    if (left == 0 || level_[to] != level_[node] + 1) continue;
    const std::int64_t pushed = push(to, sink, std::min(most, left));
    if (pushed == 0) continue;
    pipes_[pipe].left -= pushed;
    pipes_[pipe ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

std::int64_t MaxFlow::run(std::size_t source, std::size_t sink) {
  std::int64_t flow = 0;
  while (find_levels(source, sink)) {
    std::ranges::fill(next_, std::size_t{0});
    while (const std::int64_t pushed = push(source, sink, kEndless)) flow += pushed;
  }
  return flow;
}

}  // namespace nibble::inline placement
