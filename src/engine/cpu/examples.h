// SPDX-License-Identifier: Apache-2.0
// Examples of the caller, dense and in the type that the engine tells, into the arena and out of
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/place.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// `batch` examples to the place of a value, and from it.
void load_examples(const Place& place, const ValueInfo& info, const std::byte* from,
                   std::int64_t batch, std::byte* arena);
void store_examples(const Place& place, const ValueInfo& info, const std::byte* arena,
                    std::int64_t batch, std::byte* to);

}  // namespace nibble::inline engine
