// SPDX-License-Identifier: Apache-2.0
// A finish law as a kernel reads it.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/sum_finish.h"
#include "engine/cuda/device_constants.h"
#include "engine/cuda/device_place.h"
#include "engine/program.h"

namespace nibble::inline engine {

// One number a channel, modulo 2^32, with zeros up to the place's filled channels. A list has one
// for all, or one a channel.
std::vector<std::int32_t> by_channel(const std::vector<std::int64_t>& list,
                                     const DevicePlace& place);

// How the sums of products end where the copy engine brings operands; none: they do not.
cuda::FinishForm form_of(const FinishLaw& law, const DevicePlace& out, const DevicePlace* addend);

// The law of sums that end in `out`; `bias` has one a channel. Addresses of values are filled in
// when a batch runs. `addend`: null, or the place of what is added.
class DeviceFinish {
 public:
  DeviceFinish(const FinishLaw& law, const std::vector<std::int64_t>& bias, const DevicePlace& out,
               const DevicePlace* addend, DeviceConstants& constants);

  void add_outside(const cuda::OutsideSums& sums) { law_.outside = sums; }

  cuda::SumFinish in(std::int8_t* arena) const;

 private:
  cuda::SumFinish law_;
  std::size_t out_;
  std::size_t addend_;
  bool has_addend_;
};

}  // namespace nibble::inline engine
