// SPDX-License-Identifier: Apache-2.0
// A matrix of weights and what follows its sums.
typedef struct {
  const void *weights;  // a row of `depth` for each output, group after group
  int32_t depth;
  int32_t row;      // bytes of a row
  int32_t outputs;  // of one group
  net_finish finish;
} net_product;
