// SPDX-License-Identifier: Apache-2.0
// The geometry of convolutions and pools: pictures are rows of pixels of channels.
typedef struct {
  int32_t y;
  int32_t x;
} net_extent;

typedef struct {
  net_extent in;
  net_extent out;
  int32_t channels;  // of the input
  net_extent kernel;
  net_extent stride;
  net_extent padding;  // above and to the left
} net_window;

// The input that a tap of the kernel falls on; outside it is negative or too large.
static inline int32_t net_tap(int32_t out, int32_t stride, int32_t tap, int32_t padding) {
  return out * stride + tap - padding;
}

// Along one axis, what a window covers of the input: from the first to before the end.
static inline int32_t net_first(int32_t out, int32_t stride, int32_t padding) {
  const int32_t begin = net_tap(out, stride, 0, padding);
  return begin < 0 ? 0 : begin;
}

static inline int32_t net_end(int32_t out, int32_t stride, int32_t padding, int32_t kernel,
                              int32_t size) {
  const int32_t end = net_tap(out, stride, kernel, padding);
  return end < size ? end : size;
}

static inline int net_is_inside(const net_window* window, int32_t y, int32_t x) {
  return y >= 0 && y < window->in.y && x >= 0 && x < window->in.x;
}
