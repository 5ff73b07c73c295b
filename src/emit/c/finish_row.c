// SPDX-License-Identifier: Apache-2.0
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
