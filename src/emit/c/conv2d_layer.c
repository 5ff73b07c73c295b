// SPDX-License-Identifier: Apache-2.0
// A convolution and the max pool behind it, whose windows are single pixels where there is none.
typedef struct {
  net_window window;
  net_extent dilation;
  int32_t groups;
  int32_t depth;         // channels of a group
  int32_t run;           // taps of a row that lie side by side: the kernel's width, or 1
  uint8_t is_pointwise;  // a column is a pixel, no need to gather it
  net_window pool;
  net_product product;
} net_conv2d;
