// SPDX-License-Identifier: Apache-2.0
// Frozen batch norms by what the batches that trained were like.
#include "integer_training/running_norms.h"

#include "backend/normalized_batch.h"
#include "graph/batch_norm.h"

namespace nibble::inline integer_training {
namespace {

// By node; none of nodes that no norm alone reads.
std::vector<std::span<const std::int8_t>> weights_of_sums(const Network& network,
                                                          std::span<const ModelTensor> trained) {
  std::vector<std::span<const std::int8_t>> weights(network.nodes.size());
  auto next = trained.begin();
  for (const Parameter& parameter : parameters_of(network)) {
    if (!parameter.is_trained) continue;
    if (is_normalized_product(network, parameter.node))
      weights[parameter.node] = next->tensor.as<std::int8_t>();
    ++next;
  }
  return weights;
}

}  // namespace

std::vector<NormalizationRecord> running_norms(const Network& network,
                                               std::span<const ModelTensor> trained,
                                               std::span<const int> exponents,
                                               std::span<const RunningStatistics> running) {
  const auto weights = weights_of_sums(network, trained);
  std::vector<NormalizationRecord> norms;
  for (const Node& node : network.nodes) {
    if (!is<BatchNorm>(node.op)) continue;
    const std::size_t input = node.inputs[0];
    const RunningStatistics& own = running[norms.size()];
    const std::vector<int> units = norm_exponents(exponents[input], own.size(), weights[input]);
    NormalizationRecord& norm = norms.emplace_back();
    for (std::size_t c = 0; c < own.size(); ++c) {
      const NormStatistics statistics = norm_statistics(norm_moments_in(own[c], units[c]));
      norm.means.push_back(statistics.mean);
      norm.variances.push_back(statistics.variance);
    }
  }
  return norms;
}

}  // namespace nibble::inline integer_training
