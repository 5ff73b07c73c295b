// SPDX-License-Identifier: Apache-2.0
// What was found to be fast on a machine: how layers of a shape are cut. It changes speed alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace nibble::inline engine {

// How a convolution or linear layer is cut; 0: as usual. A cut that a device does not have for a
// layer is as usual there.
struct ProductCut {
  std::int64_t pixels = 0;   // of a block, whose rows are looked up once; on GPUs of a tile
  std::int64_t outputs = 0;  // of a panel: 16, 32, 48 or 64; on GPUs of a tile: 64, 128 or 256
  bool operator==(const ProductCut&) const = default;
};

// By shape, as StepInfo::shape has it.
struct Tuning {
  std::string machine;  // whose measurements these are
  std::map<std::string, ProductCut> cuts;
  bool operator==(const Tuning&) const = default;
};

// The processor, its path of instructions and the number of threads.
std::string machine_name(int threads);

// A text of one line a shape, below a line that names the machine. What is damaged is an error.
Tuning parse_tuning(std::string_view text, const std::string& name);
std::string to_text(const Tuning& tuning);
void write_tuning(const std::filesystem::path& path, const Tuning& tuning);

// A tuning, where it comes from and whether it is used.
struct TuningFile {
  enum class State : std::uint8_t {
    absent,
    of_another_machine,  // its tuning is not used, nor kept here
    active,
    given,  // by EngineOptions: there is no file
  };
  State state = State::absent;
  std::filesystem::path path = {};
  Tuning tuning = {};

  std::string to_string() const;  // "FILE", "none", "none (FILE is of another machine)", …
};

// NIBBLE_TUNING, else tuning-MACHINE.txt in ~/.cache/nibble, with the name's odd letters as '-'.
std::filesystem::path tuning_path(const std::string& machine);

// The file of a machine. One that NIBBLE_TUNING names must be there; none may be damaged.
TuningFile find_tuning(const std::string& machine);
// The one that is given, or else the file of a machine.
TuningFile tuning_of(const std::string& machine, const Tuning* given);

// Whether runs in turns, one as usual and one tuned beside each other, show that tuning helps: half
// of the turns gain kWorthwhileGain or more, and seven of ten gain at all. 31 turns of two engines
// that are equally fast say so once or twice in a hundred times.
inline constexpr double kWorthwhileGain = 0.02;
bool shows_gain(std::span<const double> usual, std::span<const double> tuned);

}  // namespace nibble::inline engine
