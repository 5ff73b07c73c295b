// SPDX-License-Identifier: Apache-2.0
// Runs of fp16 and bf16 to fp32 and back, eight at a time.
#include <immintrin.h>

#include <cstring>

#include "kernels/quantize/halves.h"

namespace nibble::inline kernels::avx2 {
namespace {

constexpr std::size_t kLanes = 8;

struct Half {
  static __m256 widened(__m128i halves) { return _mm256_cvtph_ps(halves); }
  static __m128i narrowed(__m256 floats) {
    return _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

struct Bfloat {
  static __m256 widened(__m128i bfloats) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bfloats), 16));
  }
  // Adding 0x7FFF and the last bit that stays carries exactly where nearest-even rounds up.
  static __m128i narrowed(__m256 floats) {
    const __m256i bits = _mm256_castps_si256(floats);
    const __m256i kept = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
    const __m256i raised = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    const __m256i quiet = _mm256_or_si256(kept, _mm256_set1_epi32(0x0040));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(floats, floats, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(_mm256_srli_epi32(raised, 16), quiet, is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }
};

template <class Type>
void widen(const std::uint16_t* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, Type::widened(words));
  }
  if (i == count) return;
  std::uint16_t words[kLanes] = {};
  float floats[kLanes];
  std::memcpy(words, from + i, (count - i) * sizeof *from);
  widen<Type>(words, floats, kLanes);
  std::memcpy(to + i, floats, (count - i) * sizeof *to);
}

template <class Type>
void narrow(std::uint16_t* to, const float* from, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i words = Type::narrowed(_mm256_loadu_ps(from + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), words);
  }
  if (i == count) return;
  std::uint16_t words[kLanes];
  float floats[kLanes] = {};
  std::memcpy(floats, from + i, (count - i) * sizeof *from);
  narrow<Type>(words, floats, kLanes);
  std::memcpy(to + i, words, (count - i) * sizeof *to);
}

}  // namespace

const HalfKernels kHalfKernels = {.widen_fp16 = widen<Half>,
                                  .widen_bf16 = widen<Bfloat>,
                                  .narrow_to_fp16 = narrow<Half>,
                                  .narrow_to_bf16 = narrow<Bfloat>};

}  // namespace nibble::inline kernels::avx2
