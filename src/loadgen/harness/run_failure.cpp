// SPDX-License-Identifier: Apache-2.0
// Ends LoadGen.
#include "loadgen/harness/run_failure.h"

#include <loadgen.h>

#include <chrono>
#include <thread>

#include "nibble/run_folder/interrupt.h"

namespace nibble::inline loadgen {
namespace {

// LoadGen's own thread reads what others logged every 10 ms.
constexpr std::chrono::milliseconds kUntilLogsAreRead{50};

}  // namespace

void RunFailure::keep(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return;
  error_ = std::move(error);
  has_failed_ = true;
}

bool RunFailure::must_stop() const {
  return has_failed() || interrupt_requested();
}

void RunFailure::stop_if_failed() {
  if (!must_stop()) return;
  std::this_thread::sleep_for(kUntilLogsAreRead);
  mlperf::AbortTest();
  if (has_failed()) std::rethrow_exception(error_);
  throw Interrupted(interrupt_signal(), "interrupted: LoadGen's logs end here");
}

}  // namespace nibble::inline loadgen
