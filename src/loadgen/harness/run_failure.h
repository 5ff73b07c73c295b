// SPDX-License-Identifier: Apache-2.0
// How a run ends before its time. LoadGen knows no failing system: it waits for every answer and
// goes on asking. So who fails says it here and answers all the same, and the next call that
// LoadGen makes in its own thread closes the logs and leaves by an exception.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace nibble::inline loadgen {

class RunFailure {
 public:
  void keep(std::exception_ptr error);  // the first one counts
  bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }

  // In LoadGen's thread, where no sample is on its way: throws what was kept, or Interrupted after
  // a signal, when LoadGen's logs are closed.
  void stop_if_failed();

  bool must_stop() const;  // it has failed, or a signal came

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace nibble::inline loadgen
