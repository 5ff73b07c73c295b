// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 tensors as fp32 and back.
#include "kernels/quantize/widening.h"

#include "core/half.h"
#include "kernels/quantize/halves.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline kernels {
namespace {

constexpr std::size_t kWidenedAtOnce = std::size_t{1} << 16;

template <float (*kOne)(std::uint16_t)>
void widen_each(const std::uint16_t* halves, float* floats, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) floats[i] = kOne(halves[i]);
}

template <std::uint16_t (*kOne)(float)>
void narrow_each(std::uint16_t* halves, const float* floats, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) halves[i] = kOne(floats[i]);
}

const HalfKernels& half_kernels() {
  return *best_path(kHalfPaths, active_isa()).kernel;
}

}  // namespace

namespace portable {
const HalfKernels kHalfKernels = {.widen_fp16 = widen_each<float_from_half>,
                                  .widen_bf16 = widen_each<float_from_bfloat>,
                                  .narrow_to_fp16 = narrow_each<half_from_float>,
                                  .narrow_to_bf16 = narrow_each<bfloat_from_float>};
}

std::span<const float> as_floats(ConstTensorView input, Tensor& storage) {
  if (input.dtype() == DType::f32) return input.as<float>();
  if (input.dtype() != DType::f16 && input.dtype() != DType::bf16) {
    throw Error("quantize", "type of the input", name_of(input.dtype()), "f32, f16 or bf16");
  }
  storage = Tensor(DType::f32, input.shape());
  const std::span<float> floats = storage.as<float>();
  const auto* halves = reinterpret_cast<const std::uint16_t*>(input.data());
  const HalfKernels& kernels = half_kernels();
  const auto widen = input.dtype() == DType::f16 ? kernels.widen_fp16 : kernels.widen_bf16;
  parallel_for(floats.size(), kWidenedAtOnce, [&](std::size_t begin, std::size_t end) {
    widen(halves + begin, &floats[begin], end - begin);
  });
  return floats;
}

void narrow_floats(std::span<const float> values, TensorView output) {
  auto* halves = reinterpret_cast<std::uint16_t*>(output.data());
  const HalfKernels& kernels = half_kernels();
  const auto narrow =
      output.dtype() == DType::f16 ? kernels.narrow_to_fp16 : kernels.narrow_to_bf16;
  parallel_for(values.size(), kWidenedAtOnce, [&](std::size_t begin, std::size_t end) {
    narrow(halves + begin, &values[begin], end - begin);
  });
}

}  // namespace nibble::inline kernels
