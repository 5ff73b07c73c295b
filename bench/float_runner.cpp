// SPDX-License-Identifier: Apache-2.0
// Steps float training on one batch.
#include "bench/float_runner.h"

#include <numeric>

#include "bench/network_to_measure.h"
#include "bench/stopwatch.h"
#include "epoch_loop/random_batch.h"
#include "nibble/core/npy.h"
#include "nibble/graph/model_file.h"

namespace nibble {
namespace {

constexpr double kRate = 0.001;

// All roles but the accumulator in one format.
PrecisionPolicy policy_in(const std::string& format) {
  PrecisionPolicy policy;
  if (format == "fp32") return policy;
  PolicyRule rule;
  rule.roles = {Role::weight,   Role::activation, Role::error, Role::gradient,
                Role::momentum, Role::update,     Role::master};
  rule.kinds = {"weight", "bias", "scale", "shift"};
  rule.rounding.precision.format = parse_format(format);
  policy.rules.push_back(rule);
  policy.loss_scale.start = 256;
  return policy;
}

}  // namespace

FloatRunner::FloatRunner(const std::string& network, std::int64_t batch, const std::string& format,
                         bool has_dropout, bool is_fast)
    : indices_(static_cast<std::size_t>(batch)) {
  recipe_.network = network_to_measure(network, has_dropout);
  recipe_.batch = batch;
  recipe_.optimizer.rate = kRate;
  recipe_.policy = policy_in(format);
  recipe_.is_fast = is_fast;
  data_ = random_batch(recipe_.network, batch);
  session_ = std::make_unique<Session>(recipe_);
  batcher_ = std::make_unique<Batcher>(data_, input_of(recipe_.network));
  std::iota(indices_.begin(), indices_.end(), 0);
  batcher_->load(indices_, {}, {});
}

double FloatRunner::step() {
  return session_->step(*batcher_, kRate).loss_sum / static_cast<double>(indices_.size());
}

double FloatRunner::median_seconds(int steps) {
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) times.push_back(seconds_of([&] { step(); }));
  return median(std::move(times));
}

double FloatRunner::operations() const {
  double sum = 0;
  for (const std::int64_t each : multiply_accumulates(recipe_.network))
    sum += static_cast<double>(each);
  return 6 * sum * static_cast<double>(indices_.size());
}

void FloatRunner::dump(const std::filesystem::path& folder) {
  write_npy(folder / "images.npy", batcher_->images());
  write_npy(folder / "labels.npy", data_.labels.view());
  write_model(folder / "model.nib", session_->snapshot(), {});
}

}  // namespace nibble
