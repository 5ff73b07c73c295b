// SPDX-License-Identifier: Apache-2.0
// The data sets known by name: what they hold, and where on this machine they are.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline data {

struct KnownDataset {
  std::string_view name;
  std::string_view summary;
  std::array<std::int64_t, 3> image;       // height, width, channels
  std::array<std::int64_t, 2> counts;      // train, test
  std::array<std::uint64_t, 2> hashes;     // of the splits, as hash_of(Dataset) gives them
  std::array<std::string_view, 2> sha256;  // of the same bytes: for what comes from the net
  std::span<const std::string_view> class_names;
};

std::span<const KnownDataset> known_datasets();
const KnownDataset* find_known_dataset(std::string_view name);  // null: not known

// The folder that holds everything: $NIBBLE_DATA, else ~/.cache/nibble.
std::filesystem::path data_folder();

// Where a data set or model may be, in the order of search: $NIBBLE_DATA/NAME,
// ~/.cache/nibble/NAME, then what came with a package of the system or with Nibble.
std::vector<std::filesystem::path> places_of(std::string_view name);

// The first place that has all files of a known data set; of any other name the first that exists.
std::optional<std::filesystem::path> find_data(std::string_view name);

// The command that unpacks a data set which is here in packed form only (CIFAR-10 may be).
std::optional<std::string> unpack_command(std::string_view name);

// One line for people: why a known data set was not found and what to do about it.
std::string explain_absence(std::string_view name);

}  // namespace nibble::inline data
