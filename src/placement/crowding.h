// SPDX-License-Identifier: Apache-2.0
// Two devices that share caches, memory or cores slow each other down. While both compute, the
// clock of the step goes more slowly: a time line without that is stretched there.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "placement/costs.h"

namespace nibble::inline placement {

class Crowding {
 public:
  // A side computes from begin to end; told in the order of time.
  void compute(std::uint8_t side, Nanoseconds begin, Nanoseconds end);

  // Where a time of the line that was told lies, once what both compute in takes `thousandths` of
  // its length.
  class Stretch {
   public:
    Stretch(const Crowding& crowding, std::int64_t thousandths);
    Nanoseconds operator()(Nanoseconds time) const;

   private:
    struct Stop {
      Nanoseconds begin;  // of a time that both compute in
      Nanoseconds end;
      Nanoseconds earlier;  // such time before it
    };
    std::vector<Stop> stops_;
    std::int64_t more_;
  };

 private:
  using Span = std::pair<Nanoseconds, Nanoseconds>;
  std::array<std::vector<Span>, 2> spans_;
};

}  // namespace nibble::inline placement
