// SPDX-License-Identifier: Apache-2.0
// Real factors become multipliers and a shift.
#include "quantization/rescale_node.h"

#include <algorithm>

#include "graph/rescale_factors.h"

namespace nibble::inline quantization {

std::size_t add_rescale(ModelWriter& to, RescaleNode rescale, IntegerForm form) {
  std::vector<double>& factors = rescale.factors;
  if (std::ranges::all_of(factors, [&](double each) { return each == factors[0]; })) {
    factors.resize(1);
  }
  const RescaleFactors integers =
      form == IntegerForm::nvidia ? u16_factors(factors) : rescale_factors(factors);
  std::vector<Tensor> tensors;
  tensors.emplace_back(DType::i32, Shape{static_cast<std::int64_t>(factors.size())});
  std::ranges::copy(integers.multipliers, tensors[0].as<std::int32_t>().begin());
  return to.add({.name = std::move(rescale.name),
                 .op = Rescale{.shift = integers.shift,
                               .low = rescale.low,
                               .high = rescale.high,
                               .is_per_channel = factors.size() > 1},
                 .inputs = {rescale.input},
                 .value = rescale.value},
                std::move(tensors));
}

}  // namespace nibble::inline quantization
