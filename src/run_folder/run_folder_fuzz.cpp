// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: checkpoints, schedules.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "core/test_support.h"
#include "nibble/core/error.h"
#include "nibble/run_folder/best.h"
#include "nibble/run_folder/schedule.h"
#include "run_folder/checkpoint.h"

namespace {

using namespace nibble;

void read_state(const Words& words) {
  const auto attempt = [](const auto& read) {
    try {
      (void)read();
    } catch (const Error&) {
    }
  };
  attempt([&] { return best_words(words, "best."); });
  attempt([&] { return early_stopping_words(words, "stop."); });
  attempt([&] { return plateau_words(words, "plateau."); });
  for (const auto& each : words) {
    attempt([&] { return integer_word(words, each.first); });
    attempt([&] { return number_word(words, each.first); });
  }
}

}  // namespace

// Any bytes as a checkpoint are refused or read; what a safetensors file holds is read
// back from the checkpoint that it becomes, so that mutations get past the hash.
NIBBLE_FUZZ_TARGET(checkpoint) {
  static const TemporaryFolder folder;
  const CheckpointIdentity identity{.kind = "fuzz", .must_match = {{"seed", "1"}}};
  const auto path = folder.put("a.safetensors", {reinterpret_cast<const char*>(data), size});
  try {
    read_state(load_checkpoint(path, identity).words);
  } catch (const Error&) {
  }
  Safetensors file;
  try {
    file = parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw but readers of words.
  std::vector<NamedTensorView> views;
  for (const NamedTensor& each : file.tensors) views.push_back({each.name, each.tensor.view()});
  save_checkpoint(path, identity, file.metadata, views);
  const Checkpoint copy = load_checkpoint(path, identity);
  if (copy.words != file.metadata || copy.tensors.size() != views.size()) std::abort();
  for (const NamedTensorView& each : views) {
    const Tensor& tensor = copy.tensor(each.name, each.tensor.dtype(), each.tensor.shape());
    if (std::memcmp(tensor.data(), each.tensor.data(), tensor.bytes()) != 0) std::abort();
  }
  read_state(copy.words);
  return 0;
}

// Any text either is a schedule of finite rates that survives its text form, or throws
// Error.
NIBBLE_FUZZ_TARGET(schedule) {
  using namespace nibble;
  Schedule schedule;
  try {
    schedule = parse_schedule({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;
  }
  if (parse_schedule(to_string(schedule)) != schedule) std::abort();
  for (const std::int64_t step : {0, 1, 999, 49'999}) {
    const double rate =
        rate_at(schedule, 0.1, {.step = step, .steps_per_epoch = 1000, .epochs = 50});
    if (!std::isfinite(rate) || rate < 0) std::abort();
  }
  return 0;
}
