// SPDX-License-Identifier: Apache-2.0
// Arrays into formats and back: quantize (fp32 to fp32), encode (to codes), decode, error
// statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/philox.h"
#include "nibble/core/tensor.h"
#include "nibble/numerics/compat.h"
#include "nibble/numerics/format.h"

namespace nibble::inline kernels {

struct QuantizeOptions {
  Rounding rounding = {};
  Overflow overflow = Overflow::native;
  RandomKey random = {};  // draws of stochastic rounding; element i is the row-major index
  Compat compat = Compat::none;

  // Scales given beside the data, for formats of kind `given`: one for the tensor, or one an index
  // along the format's axis. Empty: the format's own.
  std::vector<float> scales = {};
  std::vector<int> zeros = {};
};

// Rounds every element to the format; input f32, f16 or bf16, output f32 of the same shape
// or of the input's type (rounded to it if it cannot hold the value). In place is allowed.
void quantize(ConstTensorView input, TensorView output, const Format& format,
              const QuantizeOptions& options = {});

// The codes of a tensor, one integer an element, with the scales that give them meaning.
struct Encoded {
  Tensor codes;   // u8, u16 or u32: the narrowest that holds the format's code
  Tensor scales;  // f32, one a group; empty (0 elements) where the format has no scaling
  Tensor zeros;   // i32, one a group; empty unless the scaling has zero points
  float tensor_scale = 1.0F;  // two_level only
};

Encoded encode(ConstTensorView input, const Format& format, const QuantizeOptions& options = {});

// fp32 values, or f64 where the format's values are not all fp32 values.
Tensor decode(const Encoded& encoded, const Format& format);

// The same into memory that there is, of formats whose values are fp32 values.
void decode(const Encoded& encoded, const Format& format, std::span<float> values);

// Codes of `bits` bits one after another, least significant bit first: two int4 to a byte, low
// nibble first.
std::vector<std::uint8_t> pack_codes(ConstTensorView codes, int bits);
Tensor unpack_codes(const std::vector<std::uint8_t>& packed, int bits, const Shape& shape);

struct ErrorStatistics {
  std::int64_t elements = 0;
  std::int64_t non_finite = 0;  // inputs that are NaN or infinite: counted, otherwise left out
  double sqnr_db = 0;           // 10·log10(Σx² / Σ(x-q)²); infinity where q = x everywhere
  double max_abs_error = 0;
  double mean_abs_error = 0;
  double mean_error = 0;       // bias: mean of q - x
  double share_saturated = 0;  // |q| at the largest value of its group and |x| > |q|
  double share_flushed = 0;    // x not zero, q zero
};

// Compares a tensor with its quantized form, both f32. Sums run over fixed chunks, so that the
// result does not depend on the number of threads.
ErrorStatistics error_statistics(ConstTensorView input, ConstTensorView quantized,
                                 const Format& format, const QuantizeOptions& options = {});

}  // namespace nibble::inline kernels
