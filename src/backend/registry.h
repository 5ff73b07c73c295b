// SPDX-License-Identifier: Apache-2.0
// Backends that only some programs have (who links one registers it), and those made of two.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace nibble::inline backend {

// Makes the backend "KIND" or "KIND:N".
using BackendFactory = std::unique_ptr<IntegerBackend> (*)(std::string_view name);

// From here on the kind is a name wherever devices are named.
void register_backend(const std::string& kind, BackendFactory factory);

// Two backends that do the same, side by side: every result is compared bit for bit, and the first
// that differs ends the run with its layer, pass, tensor, element and both values.
std::unique_ptr<IntegerBackend> make_check_backend(std::unique_ptr<IntegerBackend> first,
                                                   std::unique_ptr<IntegerBackend> second);

}  // namespace nibble::inline backend
