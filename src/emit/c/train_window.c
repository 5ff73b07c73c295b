// SPDX-License-Identifier: Apache-2.0
// The way from an input back to the windows that it is in.

// The one of `windows` windows that begins at `place`; -1: none does.
static int32_t train_window_of(int32_t place, int32_t stride, int32_t windows) {
  int32_t window = stride == 1 ? place : 0;
  if (place < 0) return -1;
  while (window * stride < place) ++window;
  return window * stride == place && window < windows ? window : -1;
}
