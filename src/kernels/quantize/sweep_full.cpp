// SPDX-License-Identifier: Apache-2.0
// All 2^32 fp32 inputs against the definition on every instruction set: `make full` runs it.
// Arguments name formats; without any, those of kSweptFormats.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/quantize/test_sweep.h"
#include "nibble/core/error.h"

namespace nibble::inline kernels {
namespace {

std::string isa_names() {
  std::string names;
  for (const Isa isa : swept_paths()) names.append(names.empty() ? "" : ", ").append(name_of(isa));
  return names;
}

bool sweep_all(const std::string& text) {
  constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32;
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  const auto start = std::chrono::steady_clock::now();
  Sweep sweep(parse_format(text), {}, kChunk);
  for (std::uint64_t first = 0; first < kPatterns; first += kChunk) {
    if (const auto difference = sweep.run(first, 1, kChunk)) {
      std::printf("%s: input 0x%08X gives %a on %s, the definition says %a\n", text.c_str(),
                  difference->input, static_cast<double>(difference->got),
                  std::string(name_of(difference->isa)).c_str(),
                  static_cast<double>(difference->expected));
      return false;
    }
    if (shows_progress && first % (kPatterns / 100) < kChunk) {
      std::fprintf(stderr, "\r%s %3d %%", text.c_str(), static_cast<int>(first * 100 / kPatterns));
    }
  }
  if (shows_progress) std::fputs("\r", stderr);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%-10s  %llu inputs equal on %s, %.0f s\n", text.c_str(),
              static_cast<unsigned long long>(kPatterns), isa_names().c_str(), seconds.count());
  std::fflush(stdout);
  return true;
}

int run(const std::vector<std::string>& formats) {
  bool all_equal = true;
  for (const std::string& text : formats) all_equal = sweep_all(text) && all_equal;
  return all_equal ? 0 : 1;
}

}  // namespace
}  // namespace nibble::inline kernels

int main(int argc, char** argv) {
  std::vector<std::string> formats(argv + 1, argv + argc);
  if (formats.empty()) {
    formats.assign(std::begin(nibble::kSweptFormats), std::end(nibble::kSweptFormats));
  }
  try {
    return nibble::run(formats);
  } catch (const nibble::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
