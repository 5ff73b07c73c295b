// SPDX-License-Identifier: Apache-2.0
// How sums are made, in words.
#pragma once

#include "nibble/kernels/accumulate.h"
#include "numerics/words.h"

namespace nibble::inline kernels {

inline constexpr WordTable<SumMethod, 4> kSumMethods = {{{SumMethod::separate, "separate"},
                                                         {SumMethod::fused, "fused"},
                                                         {SumMethod::kahan, "kahan"},
                                                         {SumMethod::quire, "quire"}}};
inline constexpr WordTable<SumOrder, 2> kSumOrders = {
    {{SumOrder::sequential, "sequential"}, {SumOrder::pairwise, "pairwise"}}};

}  // namespace nibble::inline kernels
