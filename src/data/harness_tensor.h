// SPDX-License-Identifier: Apache-2.0
// The tensors of the MLPerf harness of INT4 ResNet-50: one picture's bytes as one NumPy string.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

// What numpy.save(path, bytes) writes: a .npy file of no axis and the type |Sn, of which n bytes
// follow a header, in all 128 bytes. They are one picture of int8, channel by channel.
bool is_harness_tensor(std::span<const std::byte> file);

// `picture` is (height, width, channels), and so is what is given, as i8. Throws where the file has
// another number of bytes; `name` is used in errors.
Tensor parse_harness_tensor(std::span<const std::byte> file, const Shape& picture,
                            const std::string& name);

// An i8 or u8 picture (height, width, channels); written beside and renamed.
void write_harness_tensor(const std::filesystem::path& path, ConstTensorView picture);

}  // namespace nibble::inline data
