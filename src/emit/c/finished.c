// SPDX-License-Identifier: Apache-2.0
// Sums of SUM_t; `addend` is the one already scaled, or 0.
static inline int32_t net_finished_SUM(const net_finish *finish, SUM_t sum, int32_t addend,
                                       int32_t channel) {
  const uint32_t m =
      (uint32_t)NET_READ_S32(finish->multipliers + channel * finish->multiplier_step);
  SUM_t x = sum * finish->factor + addend;
  SUM_magnitude_t magnitude;
  if (finish->bias != NULL) x += SUM_READ((const SUM_t *)finish->bias + channel);
  magnitude = x < 0 ? 0U - (SUM_magnitude_t)x : (SUM_magnitude_t)x;
  return net_rounded((uint64_t)magnitude * m, x < 0, finish->shift, finish->low, finish->high);
}
