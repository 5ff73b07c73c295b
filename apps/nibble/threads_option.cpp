// SPDX-License-Identifier: Apache-2.0
// The number of threads that a verb was asked for.
#include "apps/nibble/threads_option.h"

#include <CLI/CLI.hpp>

#include "nibble/core/parallel.h"

namespace nibble {

void add_threads_option(CLI::App& verb, int& threads, const std::string& note) {
  verb.add_option("--threads", threads, "threads (all cores)" + note)
      ->check(CLI::Range(1, kMostThreads));
}

void use_threads(int threads) {
  if (threads > 0) set_thread_count(threads);
  require_threads(thread_count());
}

}  // namespace nibble
