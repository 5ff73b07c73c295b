// SPDX-License-Identifier: Apache-2.0
// Which taps of a kernel fall on the input along one axis.
typedef struct {
  int32_t first;
  int32_t count;
  int32_t at;  // where on the input the first one falls
} net_taps;

static net_taps net_taps_inside(int32_t begin, int32_t dilation, int32_t kernel, int32_t size) {
  net_taps taps = {0, 0, begin};
  int32_t end;
  for (; taps.first < kernel && taps.at < 0; taps.at += dilation) ++taps.first;
  for (end = taps.at; taps.first + taps.count < kernel && end < size; end += dilation) ++taps.count;
  return taps;
}
