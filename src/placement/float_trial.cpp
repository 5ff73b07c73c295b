// SPDX-License-Identifier: Apache-2.0
// A session, one batch, and a rate that leaves the weights where they are.
#include "placement/float_trial.h"

#include <numeric>

#include "epoch_loop/random_batch.h"

namespace nibble::inline placement {
namespace {

Recipe placed(Recipe recipe, std::string place, std::int64_t images) {
  recipe.place = std::move(place);
  recipe.batch = images;
  return recipe;
}

}  // namespace

FloatTrial::FloatTrial(Recipe recipe, std::string place, std::int64_t images)
    : recipe_(placed(std::move(recipe), std::move(place), images)),
      data_(random_batch(recipe_.network, images)),
      session_(recipe_),
      batcher_(data_, input_of(recipe_.network)) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(images));
  std::iota(all.begin(), all.end(), 0);
  batcher_.load(all, {}, {});
}

Nanoseconds FloatTrial::step() {
  const Nanoseconds begin = now();
  session_.step(batcher_, 0);
  return now() - begin;
}

StepTrace FloatTrial::traced_step() {
  StepTrace trace;
  session_.set_trace(&trace);
  session_.step(batcher_, 0);
  session_.set_trace(nullptr);
  return trace;
}

}  // namespace nibble::inline placement
