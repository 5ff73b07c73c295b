// SPDX-License-Identifier: Apache-2.0
// The largest flow through a graph of pipes, and with it the cheapest cut (Dinic's way).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nibble::inline placement {

class MaxFlow {
 public:
  static constexpr std::int64_t kEndless = std::int64_t{1} << 60;

  explicit MaxFlow(std::size_t nodes) : first_(nodes), next_(nodes), level_(nodes) {}

  std::size_t add_node();
  void add_pipe(std::size_t from, std::size_t to, std::int64_t capacity);

  // At most once.
  std::int64_t run(std::size_t source, std::size_t sink);

  // After run(): whether the source still reaches the node, so that the cheapest cut leaves it on
  // the side of the source.
  bool is_on_source_side(std::size_t node) const { return level_[node] >= 0; }

 private:
  struct Pipe {
    std::size_t to;
    std::int64_t left;
  };

  bool find_levels(std::size_t source, std::size_t sink);
  std::int64_t push(std::size_t node, std::size_t sink, std::int64_t most);

  std::vector<Pipe> pipes_;                      // a pipe and its way back stand side by side
  std::vector<std::vector<std::size_t>> first_;  // by node: its pipes
  std::vector<std::size_t> next_;                // by node: the pipe to try next
  std::vector<int> level_;                       // by node: steps from the source, -1: none
};

}  // namespace nibble::inline placement
