// SPDX-License-Identifier: Apache-2.0
// Two multiply-accumulates at once, of Cortex-M4 and up; other processors go without.
#if NET_USE_DSP && defined(__ARM_FEATURE_DSP) && !defined(__ARM_BIG_ENDIAN)
#define NET_DSP_s8_s32 1
#define NET_DSP_u8_s32 1

// Four bytes from anywhere.
static inline uint32_t net_word(const void *bytes) {
  typedef struct __attribute__((packed, may_alias)) {
    uint32_t word;
  } net_any_word;
  return ((const net_any_word *)bytes)->word;
}

// Bytes 0 and 2, or 1 and 3, as two 16-bit integers.
static inline uint32_t net_even_s8(uint32_t word) {
  uint32_t pair;
  __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
  return pair;
}
static inline uint32_t net_odd_s8(uint32_t word) {
  uint32_t pair;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
  return pair;
}
static inline uint32_t net_even_u8(uint32_t word) {
  uint32_t pair;
  __asm__("uxtb16 %0, %1" : "=r"(pair) : "r"(word));
  return pair;
}
static inline uint32_t net_odd_u8(uint32_t word) {
  uint32_t pair;
  __asm__("uxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
  return pair;
}

// sum + the products of four codes, given as pairs, with the next four weights. One piece, so that
// four rows need no more registers than there are.
static inline int32_t net_dot_word(uint32_t even, uint32_t odd, const int8_t **weights,
                                   int32_t sum) {
  uint32_t pair, word;
  __asm__ volatile(
      "ldr %[word], [%[weights]], #4\n\t"
      "sxtb16 %[pair], %[word]\n\t"
      "sxtb16 %[word], %[word], ror #8\n\t"
      "smlad %[sum], %[even], %[pair], %[sum]\n\t"
      "smlad %[sum], %[odd], %[word], %[sum]"
      : [sum] "+r"(sum), [weights] "+r"(*weights), [word] "=&r"(word), [pair] "=&r"(pair)
      : [even] "r"(even), [odd] "r"(odd));
  return sum;
}
#endif
