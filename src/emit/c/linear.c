// SPDX-License-Identifier: Apache-2.0
// A linear layer: one column, the input itself.
static void net_linear_IN_WEIGHT_SUM(const net_product *product, const net_source *x,
                                     const net_source *addend, const net_sink *y) {
  const net_pixel pixel = {addend, y, 0, 0, 0};
  net_outputs_IN_WEIGHT_SUM(product, (const IN_t *)x->codes, 0, &pixel);
}
