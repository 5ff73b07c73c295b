// SPDX-License-Identifier: Apache-2.0
// The block of docs/reports.md.
#include "nibble/report/tensorboard.h"

#include <array>

int main() {
  const std::int64_t step = 3;
  const double loss = 0.375;
  const std::array<float, 4> values = {-1.5F, 0, 0.25F, 2};
#include <reports_0.cpp>
}
