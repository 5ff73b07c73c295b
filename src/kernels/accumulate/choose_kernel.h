// SPDX-License-Identifier: Apache-2.0
// From a job to the instance of the vector algorithm that computes it.
#pragma once

#include "kernels/accumulate/job.h"
#include "kernels/accumulate/lane_rounding.h"

namespace nibble::inline kernels::accumulation {

// The instance of Kernels::of<Round, kPlainSums, kMethod, kOrder> for a job's methods and elements.
template <class Kernels, class Round, bool kPlainSums>
auto choose_method(const Job& job) {
  constexpr SumOrder kSequential = SumOrder::sequential;
  const bool is_pairwise = job.order == SumOrder::pairwise;
  switch (job.method) {
    case SumMethod::fused:
      return Kernels::template of<Round, kPlainSums, SumMethod::fused, kSequential>;
    case SumMethod::kahan:
      return Kernels::template of<Round, kPlainSums, SumMethod::kahan, kSequential>;
    default:
      return is_pairwise
                 ? Kernels::template of<Round, kPlainSums, SumMethod::separate, SumOrder::pairwise>
                 : Kernels::template of<Round, kPlainSums, SumMethod::separate, kSequential>;
  }
}

template <class Kernels, class Round>
auto choose_sums(const Job& job) {
  return job.plain_sums ? choose_method<Kernels, Round, true>(job)
                        : choose_method<Kernels, Round, false>(job);
}

template <class Kernels>
auto choose_rounding(const Job& job) {
  using L = typename Kernels::Lanes;
  switch (job.rounding) {
    case LaneRounding::nearest_float:
      return choose_sums<Kernels, NearestFloat<L>>(job);
    case LaneRounding::toward_zero:
      return choose_sums<Kernels, AnyElement<L, LaneRounding::toward_zero>>(job);
    case LaneRounding::stochastic:
      return choose_sums<Kernels, AnyElement<L, LaneRounding::stochastic>>(job);
    default:
      return choose_sums<Kernels, AnyElement<L, LaneRounding::nearest>>(job);
  }
}

}  // namespace nibble::inline kernels::accumulation
