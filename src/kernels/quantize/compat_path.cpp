// SPDX-License-Identifier: Apache-2.0
// quantize as QPyTorch or its posit fork would.
#include "kernels/quantize/quantize_paths.h"

#include <vector>

#include "kernels/quantize/check_call.h"
#include "nibble/core/parallel.h"
#include "numerics/compat_qtorch.h"

namespace nibble::inline kernels {

void quantize_by_compat(std::span<const float> input, std::span<float> output, const Format& format,
                        const Grouping& grouping, const QuantizeOptions& options) {
  check_compat_options(format, options);
  const auto group_of = [&](std::size_t i) {
    return static_cast<std::size_t>(grouping.group_of(static_cast<std::int64_t>(i)));
  };
  std::vector<float> largest(static_cast<std::size_t>(grouping.groups()), 0.0F);
  if (format.scaling.kind == ScaleKind::power_of_two) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      float& of_group = largest[group_of(i)];
      of_group = compat_group_max(of_group, input[i]);
    }
  }
  constexpr std::size_t kGrain = std::size_t{1} << 14;
  parallel_for(input.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t draw = options.rounding.is_stochastic() ? draw32(options.random, i) : 0;
      output[i] = compat_round(format, options.compat, options.rounding, largest[group_of(i)],
                               input[i], draw);
    }
  });
}

}  // namespace nibble::inline kernels
