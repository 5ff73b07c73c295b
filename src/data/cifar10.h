// SPDX-License-Identifier: Apache-2.0
// The binary batches of CIFAR-10.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nibble/data/dataset.h"

namespace nibble::inline data {

// One or more records of 3,073 bytes: the label (0 to 9), then 32×32 bytes of red, of green, of
// blue. `name` is used in errors.
Dataset parse_cifar10(std::span<const std::byte> bytes, const std::string& name);

// data_batch_1.bin to data_batch_5.bin, or test_batch.bin.
std::vector<std::string> cifar10_batch_names(Split split);

// The batches of a split one after the other.
Dataset read_cifar10(const std::filesystem::path& folder, Split split);

// The folder with all six batches: the given one, or cifar-10-batches-bin inside it.
std::optional<std::filesystem::path> find_cifar10_batches(const std::filesystem::path& folder);

}  // namespace nibble::inline data
