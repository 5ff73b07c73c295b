// SPDX-License-Identifier: Apache-2.0
// For tests: how often a program took memory. It counts where it links test_allocations.cpp.
#pragma once

#include <cstdint>

// Sanitizers have their own; GCC and clang say differently that they are there.
#if defined(__has_feature)
#define NIBBLE_HAS_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define NIBBLE_HAS_THREAD_SANITIZER 0
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !NIBBLE_HAS_THREAD_SANITIZER
#define NIBBLE_COUNTS_MEMORY 1
#else
#define NIBBLE_COUNTS_MEMORY 0
#endif

namespace nibble::inline core {

inline constexpr bool kCountsAllocations = NIBBLE_COUNTS_MEMORY != 0;

std::int64_t allocations();  // of all threads so far; 0 where they are not counted

}  // namespace nibble::inline core
