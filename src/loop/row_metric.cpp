// SPDX-License-Identifier: Apache-2.0
// The metric that a schedule or early stopping watches.
#include "loop/row_metric.h"

namespace nibble {

double metric_of(const EpochRow& row, Metric metric) {
  const bool is_held_out = metric == Metric::val_loss || metric == Metric::val_top1;
  const bool has_split = is_held_out && row.val_loss.has_value();
  if (metric == Metric::val_loss || metric == Metric::train_loss) {
    return has_split ? *row.val_loss : row.train_loss.value_or(0);
  }
  return has_split ? row.val_top1.value_or(0) : row.train_top1.value_or(0);
}

}  // namespace nibble
