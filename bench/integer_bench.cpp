// SPDX-License-Identifier: Apache-2.0
// Speed and memory of integer training. With --serve it answers bench/train_vs_torch.py.
#include "bench/integer_bench.h"

#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <vector>

#include "bench/integer_runner.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/integer_training/train_integers.h"
#include "run_folder/provenance.h"

namespace {

using namespace nibble;

constexpr const char* kHelp =
    R"(usage: integer_bench [layers | step | memory] NETWORK [options]

  layers   the three products of every convolution and linear layer, each alone: forward, the error
           of the input, the gradient of the weight. GOP/s counts two operations for every
           multiplication that the layer's definition has, also those over a border, which are not
           done: a share of the peak may pass 100 %, and the total is told both ways. "of peak" is
           the share, by the median time, of what all threads reach when they multiply registers
           and touch no memory, measured in between; "at best" is by the least time. Every pass is
           compared with the reference path on a few pixels.
  step     whole steps of training: images to moved weights. With exact shifts, a shift is guessed
           from the last batch, and where the guess missed the product is made again. The weights
           are compared with the portable path's.
  memory   what training adds to a process, for int8 and for fp32, each in a process of its own.

Without a word: all three, on the usual networks.

  NETWORK              a name (vgg-small-7, lenet, mlp-784-100-50-10, …) or the path of a .toml file
  --batch N            images of a batch (64; memory: 256)
  --threads N          (OMP_NUM_THREADS, else all cores)
  --shifts exact|delayed
                       from this batch's largest sum, or from the last one's, with saturation (exact)
  --steps N            that step measures (20)

  integer_bench --serve NETWORK BATCH exact|delayed dropout|none
                       answers the lines "time STEPS" (median seconds) and "loss" (after a step)

NIBBLE_ISA=avx512vnni (or another path) chooses the instructions. A shared machine is noisy: "at best"
moves less than a median.
)";

[[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) {
  throw Error("integer_bench", what, got, expected);
}

std::int64_t number_of(std::string_view flag, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1'000'000)
    refuse(flag, text, "a number from 1 to 1000000");
  return value;
}

// `words` are NETWORK and options.
IntegerBenchOptions options_of(const std::vector<std::string>& words, std::int64_t batch) {
  IntegerBenchOptions options{.network = {}, .batch = batch};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      if (!options.network.empty()) refuse("network", word, "one alone");
      options.network = word;
      continue;
    }
    if (i + 1 == words.size()) refuse(word, "nothing", "a value");
    const std::string& value = words[++i];
    if (word == "--batch") {
      options.batch = number_of(word, value);
    } else if (word == "--threads") {
      set_thread_count(static_cast<int>(number_of(word, value)));
    } else if (word == "--steps") {
      options.steps = static_cast<int>(number_of(word, value));
    } else if (word == "--shifts") {
      options.shifts = shift_rule_by_name(value);
    } else {
      refuse("option", word, "--batch, --threads, --steps or --shifts");
    }
  }
  if (options.network.empty()) refuse("network", "nothing", "a name or the path of a .toml file");
  return options;
}

void print_machine() {
  const Machine machine = this_machine();
  fmt::print("{}, {} of {} threads, path {}\n", machine.cpu, machine.threads, machine.cores,
             machine.isa);
}

bool measure_usual() {
  print_machine();
  bool right = measure_layers({.network = "vgg-small-7"});
  right = measure_step({.network = "vgg-small-7", .steps = 5}) && right;
  right = measure_step({.network = "lenet", .steps = 50}) && right;
  right = measure_step({.network = "mlp-784-100-50-10", .batch = 128, .steps = 200}) && right;
  return measure_memory({.network = "vgg-small-7", .batch = 256}) && right;
}

void serve(const std::vector<std::string>& words) {
  IntegerRunner runner(words[0], number_of("batch", words[1]), shift_rule_by_name(words[2]),
                       words[3] == "dropout");
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "loss") {
      runner.step();
      fmt::print("{:.9g}\n", runner.loss());
    } else {
      fmt::print("{:.9g}\n", runner.median_seconds(std::stoi(line.substr(5))));
    }
    std::fflush(stdout);
  }
}

bool run(const std::vector<std::string>& words) {
  if (words.empty()) return measure_usual();
  const std::string& what = words[0];
  const auto rest = [&](std::size_t from) {
    return std::vector<std::string>(words.begin() + static_cast<std::ptrdiff_t>(from), words.end());
  };
  if (what == "--help" || what == "-h") {
    fmt::print("{}", kHelp);
    return true;
  }
  if (what == "--serve" && words.size() == 5) {
    serve(rest(1));
    return true;
  }
  if (what == "--tell-memory" && words.size() > 2) {
    tell_memory(words[1], options_of(rest(2), 256));
    return true;
  }
  const bool is_memory = what == "memory";
  if (what != "layers" && what != "step" && !is_memory)
    refuse("word", what, "layers, step or memory; --help says more");
  const IntegerBenchOptions options = options_of(rest(1), is_memory ? 256 : 64);
  print_machine();
  if (what == "layers") return measure_layers(options);
  return is_memory ? measure_memory(options) : measure_step(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc}) ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
