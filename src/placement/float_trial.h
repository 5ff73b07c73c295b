// SPDX-License-Identifier: Apache-2.0
// Steps of float training on made-up numbers, to see how long they take and what runs when.
#pragma once

#include "float_training/session.h"
#include "placement/planned_work.h"

namespace nibble::inline placement {

class FloatTrial final : public TimedSteps {
 public:
  // The recipe has its whole policy; `place` says who computes what.
  FloatTrial(Recipe recipe, std::string place, std::int64_t images);

  Nanoseconds step() override;
  // The same, told to a trace.
  StepTrace traced_step();

 private:
  Recipe recipe_;
  Dataset data_;
  Session session_;
  Batcher batcher_;
};

}  // namespace nibble::inline placement
