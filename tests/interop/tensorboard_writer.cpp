// SPDX-License-Identifier: Apache-2.0
// Writes the event files that tensorboard_test.py reads: tensorboard_writer FOLDER [resumed at
// step].
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "nibble/report/tensorboard.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::optional<std::int64_t> resumed_at;
  if (argc > 2) resumed_at = std::atoll(argv[2]);
  nibble::TensorBoardSink sink(argv[1], resumed_at);
  const std::int64_t first = resumed_at.value_or(0);
  for (std::int64_t step = first; step < first + 5; ++step) {
    const auto x = static_cast<double>(step);
    sink.scalar("train/loss", step, 1 / (1 + x));
    sink.scalar("sqnr/weight/größe", step, -x);
    std::vector<float> values;
    for (int i = -500; i <= 500; ++i) {
      values.push_back(static_cast<float>(i) / 64 + static_cast<float>(x));
    }
    values.push_back(std::numeric_limits<float>::infinity());
    sink.histogram("weight/conv1", step, values);
  }
  sink.scalar("rare", std::int64_t{1} << 40, std::numeric_limits<double>::infinity());
  sink.text("settings", 0, "seed 1\n<b>größe</b>");
  sink.flush();
  return 0;
}
