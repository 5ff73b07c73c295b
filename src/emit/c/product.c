// SPDX-License-Identifier: Apache-2.0
//@ product
// A matrix of weights and what follows its sums.
typedef struct {
  const void *weights;  // a row of `depth` for each output, group after group
  int32_t depth;
  int32_t row;      // bytes of a row
  int32_t outputs;  // of one group
  net_finish finish;
} net_product;

//@ outputs
// The outputs of one group for one column of IN_t codes, weights of type WEIGHT, sums of SUM_t.
static void net_outputs_IN_WEIGHT_SUM(const net_product *product, const IN_t *column, int32_t group,
                                      const net_pixel *pixel) {
  enum { kBlock = 8 };
  const int32_t depth = product->depth;
  const int32_t end = (group + 1) * product->outputs;
  int32_t first = group * product->outputs;
  const WEIGHT_t *weights = (const WEIGHT_t *)product->weights + first * product->row;
  SUM_t sums[kBlock];
  while (first < end) {
    const int32_t count = end - first < kBlock ? end - first : kBlock;
    const int32_t fours = count & ~INT32_C(3);
    int32_t j = 0;
    for (; j < fours; j += 4) {
      net_dot4_IN_WEIGHT_SUM(column, weights, depth, &sums[j]);
      weights += 4 * product->row;
    }
    for (; j < count; ++j) {
      net_dot_IN_WEIGHT_SUM(column, weights, depth, &sums[j]);
      weights += product->row;
    }
    net_finish_row_SUM(&product->finish, pixel, sums, first, count);
    first += count;
  }
}

//@ linear
// A linear layer: one column, the input itself.
static void net_linear_IN_WEIGHT_SUM(const net_product *product, const net_source *x,
                                     const net_source *addend, const net_sink *y) {
  const net_pixel pixel = {addend, y, 0, 0, 0};
  net_outputs_IN_WEIGHT_SUM(product, (const IN_t *)x->codes, 0, &pixel);
}
