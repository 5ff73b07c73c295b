// SPDX-License-Identifier: Apache-2.0
//@ finish
// From a sum to what is stored: clamp(R((sum * factor + bias[c] + addend) * m[c], s), low, high).
typedef struct {
  const void *bias;  // one a channel, or none
  const int32_t *multipliers;
  net_term addend;
  int32_t factor;
  int32_t low;
  int32_t high;
  uint8_t multiplier_step;  // 1: one a channel; 0: one for all
  uint8_t shift;
} net_finish;

//@ finished
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

//@ pixel
// Where the outputs of one pixel go.
typedef struct {
  const net_source *addend;  // or none
  const net_sink *y;
  int32_t addend_begin;  // index of the pixel's first channel
  int32_t y_begin;
  int keeps_larger;  // of what is there and what comes: a max pool
} net_pixel;

//@ finish_row
// Stores what becomes of the sums of the channels first, first + 1 ... of a pixel.
static void net_finish_row_SUM(const net_finish *restrict finish, const net_pixel *restrict pixel,
                               const SUM_t *restrict sums, int32_t first, int32_t count) {
  const net_sink *restrict y = pixel->y;
  const net_source *restrict addend = pixel->addend;
  const net_source old = {y->codes, y->zero, y->type};
  int32_t i;
  for (i = 0; i < count; ++i) {
    const int32_t channel = first + i;
    int32_t value = 0;
    if (addend != NULL) {
      value = net_scaled(&finish->addend, net_get(addend, pixel->addend_begin + channel), channel);
    }
    value = net_finished_SUM(finish, sums[i], value, channel);
    if (pixel->keeps_larger && net_get(&old, pixel->y_begin + channel) >= value) continue;
    net_put(y, pixel->y_begin + channel, value);
  }
}
