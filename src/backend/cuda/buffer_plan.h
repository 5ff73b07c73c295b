// SPDX-License-Identifier: Apache-2.0
// Which bytes of one piece of memory the buffers of a step get. Steps of a kind ask for the same
// buffers again and again: once two in a row did, places are found for all of them together, by
// when each is taken and given back.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/arena.h"

namespace nibble::cuda {

// Steps that take the same buffers, as far as one can tell when they begin.
struct StepKind {
  std::int64_t images = 0;
  bool is_training = false;
  bool guesses_twice = false;
  auto operator<=>(const StepKind&) const = default;
};

class BufferPlan {
 public:
  static constexpr std::size_t kAlignment = 256;

  void begin(const StepKind& kind);  // a step
  // The step has ended. True: it was like the last one of its kind, but buffers had no place, and
  // all are back: find_places() can help.
  bool end();
  void find_places();
  std::size_t bytes() const { return bytes_; }  // of the memory that steps of all kinds share
  void forget();                                // all places: steps take other buffers from now on
  bool has_places_on_loan() const { return !used_.empty(); }

  // A buffer on loan.
  struct Loan {
    std::size_t item;  // of its step; not counted where no step runs
    std::size_t step;  // number of the step
    std::size_t bytes;
    std::optional<std::size_t> place;
  };
  Loan take(std::size_t bytes);
  void give(const Loan& loan);

 private:
  struct Steps {
    std::vector<ArenaItem> last;
    std::vector<ArenaItem> planned;
  };
  bool is_free(std::size_t begin, std::size_t end) const;

  std::map<StepKind, Steps> kinds_;
  Steps* current_ = nullptr;
  std::vector<ArenaItem> items_;             // of the step that runs
  std::map<std::size_t, std::size_t> used_;  // places on loan, begin to end
  std::size_t on_loan_ = 0;
  std::size_t step_ = 0;
  std::size_t now_ = 0;  // takes and gives of the step so far
  bool has_all_places_ = true;
  std::size_t bytes_ = 0;
};

}  // namespace nibble::cuda
