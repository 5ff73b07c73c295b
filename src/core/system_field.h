// SPDX-License-Identifier: Apache-2.0
// What files of the system tell in lines of a key and a value: /proc/cpuinfo, /etc/os-release.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nibble::inline core {

// The value of the first line "key <separator> value", without blanks and quotes around it; empty
// where there is none.
std::string system_field(const std::filesystem::path& path, std::string_view key, char separator);

// As the system names it; its architecture where the system has no name for it.
std::string processor_name();

}  // namespace nibble::inline core
