// SPDX-License-Identifier: Apache-2.0
// Unpacks deflate data without a frame, as zip entries hold it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nibble::inline data {

// Throws unless all of `packed` is one stream of exactly `size` bytes. Memory grows with what
// arrives; `name` is used in errors.
std::vector<std::byte> inflate_all(std::span<const std::byte> packed, std::size_t size,
                                   const std::string& name);

}  // namespace nibble::inline data
