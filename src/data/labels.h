// SPDX-License-Identifier: Apache-2.0
// Labels as every data set has them: 32-bit integers, each an index of a class.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

inline constexpr std::int64_t kMostClasses = 65536;

// Integers of any width (n) as i32. Throws unless there are `count` of them, all from 0 to
// classes - 1; `name` is the file in errors.
Tensor labels_from(ConstTensorView values, std::int64_t count, std::int64_t classes,
                   const std::string& name);

}  // namespace nibble::inline data
