// SPDX-License-Identifier: Apache-2.0
// The small state of a run as named words, the way a checkpoint keeps it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "nibble/run_folder/schedule.h"

namespace nibble::inline run_folder {

using Words = std::map<std::string, std::string>;

// Numbers are written so that reading gives the same bits.
void put_text(Words& words, const std::string& name, std::string_view value);
void put_integer(Words& words, const std::string& name, std::int64_t value);
void put_number(Words& words, const std::string& name, double value);

// A missing word or one that is no such value throws an error that names it.
std::string text_word(const Words& words, const std::string& name);
std::int64_t integer_word(const Words& words, const std::string& name);
double number_word(const Words& words, const std::string& name);

// Names start with `prefix`, e.g. "best.value".
void put_words(Words& words, const std::string& prefix, const BestSoFar& best);
void put_words(Words& words, const std::string& prefix, const EarlyStoppingState& state);
void put_words(Words& words, const std::string& prefix, const PlateauState& state);
BestSoFar best_words(const Words& words, const std::string& prefix);
EarlyStoppingState early_stopping_words(const Words& words, const std::string& prefix);
PlateauState plateau_words(const Words& words, const std::string& prefix);

}  // namespace nibble::inline run_folder
