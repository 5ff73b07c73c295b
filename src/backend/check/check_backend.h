// SPDX-License-Identifier: Apache-2.0
// Two backends that do the same, side by side: every result is compared bit for bit, and the first
// that differs ends the run with its layer, pass, tensor, element and both values.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace nibble::inline backend {

std::unique_ptr<IntegerBackend> make_check_backend(std::unique_ptr<IntegerBackend> first,
                                                   std::unique_ptr<IntegerBackend> second);

}  // namespace nibble::inline backend
