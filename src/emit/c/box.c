// SPDX-License-Identifier: Apache-2.0
//@ box
// Copies a box of values between pictures: concat, slice and pad.
typedef struct {
  int32_t size[3];       // of the box: rows, columns, channels
  int32_t from_step[3];  // indices from one to the next
  int32_t from_begin;
  int32_t to_step[3];
  int32_t to_begin;
} net_box;

static void net_copy_box(const net_box *box, const net_source *x, const net_sink *y) {
  int32_t r, c, k;
  for (r = 0; r < box->size[0]; ++r) {
    for (c = 0; c < box->size[1]; ++c) {
      const int32_t from = box->from_begin + r * box->from_step[0] + c * box->from_step[1];
      const int32_t to = box->to_begin + r * box->to_step[0] + c * box->to_step[1];
      for (k = 0; k < box->size[2]; ++k) {
        net_put(y, to + k * box->to_step[2], net_get(x, from + k * box->from_step[2]));
      }
    }
  }
}

//@ fill
// Zeros, before a smaller picture is put into their midst.
static void net_fill(const net_sink *y, int32_t count) {
  int32_t i;
  for (i = 0; i < count; ++i) net_put(y, i, 0);
}
