// SPDX-License-Identifier: Apache-2.0
// The files of a run in its folder, and how a new run takes the place of an old one: it is written
// in a folder inside until it has a checkpoint, and till then the old run is as it was.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace nibble::inline run_folder {

std::vector<std::filesystem::path> files_of_run(const std::filesystem::path& folder);
void remove_run_file(const std::filesystem::path& path);
// Throws where one of them is a link, a folder, a pipe: a run that goes on writes within its
// folder.
void refuse_links(const std::filesystem::path& folder);

// "[run] cannot ACTION PATH: REASON"
[[noreturn]] void fail_run_file(const char* action, const std::filesystem::path& path,
                                const std::error_code& code);

// A run that was stopped before its first checkpoint: nothing of it is worth keeping.
bool is_barely_begun(const std::filesystem::path& folder);

// Where the new run is written.
std::filesystem::path begin_replacement(const std::filesystem::path& folder);
// From here on the new run is the one that stays: then its files take the place of the old ones.
void commit_replacement(const std::filesystem::path& folder);
void finish_replacement(const std::filesystem::path& folder);
// Drops what was not committed and finishes what was, whatever had ended the process.
void recover_replacement(const std::filesystem::path& folder);

}  // namespace nibble::inline run_folder
