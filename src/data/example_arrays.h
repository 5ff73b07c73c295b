// SPDX-License-Identifier: Apache-2.0
// Arrays as every data set has them: pictures or features, labels, and the targets of regression.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

// u8 or f32 (n, h, w, c); of (n, h, w) the one channel is added, f32 (n, k) becomes (n, 1, 1, k).
// Throws on other shapes and types and on numbers that are not finite; `name` is the array in
// errors.
Tensor images_from(Tensor values, const std::string& name);

// f32 (n, k); (n) becomes (n, 1). Throws unless there are `count` rows of finite numbers.
Tensor targets_from(Tensor values, std::int64_t count, const std::string& name);

inline constexpr std::int64_t kMostClasses = 65536;

// Integers of any width (n) as i32. Throws unless there are `count` of them, all from 0 to
// classes - 1; `name` is the file in errors.
Tensor labels_from(ConstTensorView values, std::int64_t count, std::int64_t classes,
                   const std::string& name);

}  // namespace nibble::inline data
