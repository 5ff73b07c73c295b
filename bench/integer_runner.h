// SPDX-License-Identifier: Apache-2.0
// Integer training of one network on one batch, stepped again and again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "integer_step/session.h"
#include "integer_training/integer_batcher.h"

namespace nibble {

class IntegerRunner {
 public:
  IntegerRunner(const std::string& network, std::int64_t batch, ShiftRule rule, bool has_dropout,
                const std::string& device = "cpu");

  void step() { answers_ = session_.step(batch_); }
  double median_seconds(int steps);
  // Seconds of steps one behind the other, each asked for while the one before it may still run.
  double seconds_in_a_row(int steps);

  double loss() const;                 // of the last step's answers, a mean over images
  std::uint64_t weights_hash() const;  // to compare paths

  // Where sums are rounded to int8.
  struct Roundings {
    std::int64_t guesses = 0;    // shifts, since forget_guesses
    std::int64_t misses = 0;     // those that were wrong: the sums were made twice
    std::int64_t elements = 0;   // of the last step
    std::int64_t saturated = 0;  // those cut to ±127
  };
  Roundings roundings() const;
  void forget_guesses();

  std::size_t peak_bytes() const { return session_.tape().peak_bytes(); }  // values and errors
  double operations() const;  // of a step: forward, errors, gradients

 private:
  Network network_;
  Dataset data_;
  IntegerSession session_;
  IntegerBatcher batcher_;
  std::vector<std::int32_t> indices_;
  IntegerBatch batch_;
  IntegerAnswers answers_;
};

}  // namespace nibble
