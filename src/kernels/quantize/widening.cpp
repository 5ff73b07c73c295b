// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 tensors as fp32 and back.
#include "kernels/quantize/widening.h"

#include "nibble/core/error.h"
#include "nibble/core/half.h"
#include "nibble/core/parallel.h"

namespace nibble {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;

// Both 16-bit types travel as std::uint16_t, which is no DType of its own.
template <class Halves, class Floats, class Convert>
void convert(Halves* halves, Floats* floats, std::size_t count, const Convert& one) {
  parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) one(halves[i], floats[i]);
  });
}

}  // namespace

std::span<const float> as_floats(ConstTensorView input, Tensor& storage) {
  if (input.dtype() == DType::f32) return input.as<float>();
  if (input.dtype() != DType::f16 && input.dtype() != DType::bf16) {
    throw Error("quantize", "type of the input", name_of(input.dtype()), "f32, f16 or bf16");
  }
  storage = Tensor(DType::f32, input.shape());
  const std::span<float> floats = storage.as<float>();
  const auto* halves = reinterpret_cast<const std::uint16_t*>(input.data());
  if (input.dtype() == DType::f16) {
    convert(halves, floats.data(), floats.size(),
            [](std::uint16_t h, float& f) { f = float_from_half(h); });
  } else {
    convert(halves, floats.data(), floats.size(),
            [](std::uint16_t h, float& f) { f = float_from_bfloat(h); });
  }
  return floats;
}

void narrow_floats(std::span<const float> values, TensorView output) {
  auto* halves = reinterpret_cast<std::uint16_t*>(output.data());
  if (output.dtype() == DType::f16) {
    convert(halves, values.data(), values.size(),
            [](std::uint16_t& h, float f) { h = half_from_float(f); });
  } else {
    convert(halves, values.data(), values.size(),
            [](std::uint16_t& h, float f) { h = bfloat_from_float(f); });
  }
}

}  // namespace nibble
