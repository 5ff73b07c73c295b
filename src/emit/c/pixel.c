// SPDX-License-Identifier: Apache-2.0
// Where the outputs of one pixel go.
typedef struct {
  const net_source *addend;  // or none
  const net_sink *y;
  int32_t addend_begin;  // index of the pixel's first channel
  int32_t y_begin;
  int keeps_larger;  // of what is there and what comes: a max pool
} net_pixel;
