// SPDX-License-Identifier: Apache-2.0
// Batch norm in integers by its definition.
#include <algorithm>

#include "backend/normalized_batch.h"
#include "backend/reference/reference_backend.h"

namespace nibble::inline backend {
namespace {

class ReferenceNormalization final : public NormalizationOp {
 public:
  ReferenceNormalization(ReferenceBackend& backend, const NormalizationCase& norm)
      : backend_(backend),
        channels_(static_cast<std::size_t>(norm.picture.channels)),
        batch_(norm) {}

  void forward(const Values& input, const Weights* product, const Weights& scale,
               const Weights& shift, ShiftPoint point, const Values& output) override {
    const std::vector<std::int64_t> values = values_of(input);
    ChannelSums sums(channels_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t c = i % channels_;
      sums.values[c] += values[i];
      sums.squares[c] += values[i] * values[i];
      sums.negated_least[c] = std::max(sums.negated_least[c], -values[i]);
      sums.most[c] = std::max(sums.most[c], values[i]);
    }
    std::span<const std::int8_t> weight;
    if (product != nullptr) weight = of(*product).mantissas.as<std::int8_t>();
    const NormalizedBatch::Lines& lines =
        batch_.forward(std::move(sums), backend_.step(),
                       norm_exponents(backend_.exponent(input), channels_, weight), of(scale).fine,
                       of(shift).fine);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t c = i % channels_;
      numbers.push_back(lines.multiplier[c] * values[i] + lines.addend[c]);
    }
    backend_.round_channels(point, numbers, lines.shift, output);
    backend_.set_exponent(output, lines.exponent);
  }

  void backward(const Values& input, const Values& error, ShiftPoint point,
                const Values& input_error, Sums& scale, Sums& shift) override {
    const std::vector<std::int64_t> values = values_of(input);
    const std::vector<std::int8_t>& errors = ReferenceBackend::data(error);
    ChannelErrorSums sums(channels_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums.errors[i % channels_] += errors[i];
      sums.products[i % channels_] += errors[i] * values[i];
    }
    const NormalizedBatch::Planes& planes = batch_.backward(
        std::move(sums), backend_.exponent(error), backend_.step().cluster, scale, shift);
    if (input_error.memory.is_empty()) return;
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> largest(channels_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t c = i % channels_;
      const std::int64_t number = std::int64_t{planes.error[c]} * errors[i] +
                                  planes.value[c] * values[i] + planes.addend[c];
      numbers.push_back(number);
      largest[c] = std::max(largest[c], number < 0 ? -number : number);
    }
    batch_.bound(std::move(largest), backend_.step().cluster);
    backend_.round_channels(point, numbers, planes.shift, input_error);
    backend_.set_exponent(input_error, planes.exponent);
  }

  NormalizationRecord record() override { return batch_.record(); }
  RunningStatistics running() override { return batch_.running(); }
  void set_running(const RunningStatistics& running) override { batch_.set_running(running); }

  void forward_frozen(const Values& input, const FrozenLine& line, const Values& output) override {
    backend_.freeze(values_of(input), line, output);
  }

 private:
  static const WeightsState& of(const Weights& weights) {
    return static_cast<const ReferenceWeights&>(weights).state;
  }

  static std::vector<std::int64_t> values_of(const Values& input) {
    if (input.storage == ValueStorage::s16) {
      const auto& sums = ReferenceBackend::sums_of(input);
      return {sums.begin(), sums.end()};
    }
    const auto& data = ReferenceBackend::data(input);
    return {data.begin(), data.end()};
  }

  ReferenceBackend& backend_;
  std::size_t channels_;
  NormalizedBatch batch_;
};

}  // namespace

void ReferenceBackend::freeze(std::span<const std::int64_t> sums, const FrozenLine& line,
                              const Values& to) {
  const auto& bias = static_cast<const ReferenceWeights&>(*line.bias).state.fine;
  const auto& multiplier = static_cast<const ReferenceWeights&>(*line.multiplier).state.fine;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t c = i % bias.size();
    data(to)[i] = frozen_norm_value(sums[i], bias[c], multiplier[c], line.shift);
  }
  set_exponent(to, line.exponent);
}

std::unique_ptr<NormalizationOp> ReferenceBackend::normalization(const NormalizationCase& norm) {
  return std::make_unique<ReferenceNormalization>(*this, norm);
}

}  // namespace nibble::inline backend
