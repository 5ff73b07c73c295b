// SPDX-License-Identifier: Apache-2.0
// Backends that only some programs have: who links one registers it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace nibble::inline backend {

// Makes the backend "KIND" or "KIND:…".
using BackendFactory = std::unique_ptr<IntegerBackend> (*)(std::string_view name);

void register_backend(const std::string& kind, BackendFactory factory);

}  // namespace nibble::inline backend
