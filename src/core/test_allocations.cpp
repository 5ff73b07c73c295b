// SPDX-License-Identifier: Apache-2.0
// Counts calls of the functions that give memory.
#include "core/test_allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {
std::atomic<std::int64_t> taken{0};
}

namespace nibble::inline core {

std::int64_t allocations() {
  return taken;
}

}  // namespace nibble::inline core

#if NIBBLE_COUNTS_MEMORY
// operator new calls these as well.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  ++taken;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++taken;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  ++taken;
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++taken;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  ++taken;
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}
}
#endif
