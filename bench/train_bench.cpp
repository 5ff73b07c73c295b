// SPDX-License-Identifier: Apache-2.0
// Speed of training steps. Alone: float against simulated e4m3, and the share of the float peak.
// With --serve it answers bench/train_vs_torch.py, which runs PyTorch in between.
#include <fmt/format.h>

#include <iostream>
#include <string>
#include <vector>

#include "bench/float_runner.h"
#include "bench/stopwatch.h"
#include "float_training/product.h"
#include "nibble/core/parallel.h"

namespace {

using namespace nibble;

// What oneDNN reaches on a large product with all cores: the practical peak.
double peak_operations() {
  constexpr std::int64_t kSide = 1536;
  std::vector<float> a(kSide * kSide, 1.0F);
  std::vector<float> b(kSide * kSide, 0.5F);
  std::vector<float> c(kSide * kSide);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    times.push_back(seconds_of([&] {
      product(kSide, kSide, kSide, {a.data(), kSide}, {b.data(), kSide}, c.data(), false, true);
    }));
  }
  return 2.0 * kSide * kSide * kSide / median(std::move(times));
}

int table() {
  const double peak = peak_operations();
  fmt::print("training step, {} threads; a product of 1536³ reaches {:.0f} GFLOP/s\n",
             thread_count(), peak / 1e9);
  fmt::print("{:<22} {:>5}  {:>10} {:>10} {:>7}  {:>6}\n", "network", "batch", "fp32 ms", "e4m3 ms",
             "ratio", "peak");
  struct Case {
    const char* network;
    std::int64_t batch;
    int steps;
  };
  for (const auto& [network, batch, steps] :
       {Case{"mlp-784-128-64-10", 128, 50}, Case{"lenet", 64, 20}, Case{"resnet20", 64, 5},
        Case{"vgg-small-7", 64, 3}}) {
    FloatRunner plain(network, batch, "fp32", true, false);
    FloatRunner rounded(network, batch, "e4m3", true, false);
    plain.median_seconds(2);
    rounded.median_seconds(2);
    std::vector<double> plain_times;
    std::vector<double> rounded_times;
    for (int round = 0; round < 3; ++round) {
      plain_times.push_back(plain.median_seconds(steps));
      rounded_times.push_back(rounded.median_seconds(steps));
    }
    const double p = median(plain_times);
    const double r = median(rounded_times);
    fmt::print("{:<22} {:>5}  {:>10.3f} {:>10.3f} {:>6.2f}×  {:>4.0f} %\n", network, batch, 1e3 * p,
               1e3 * r, r / p, 100 * plain.operations() / p / peak);
  }
  return 0;
}

// Lines "time STEPS" and "loss": answers a number a line.
int serve(const std::vector<std::string>& words) {
  FloatRunner runner(words[0], std::stoll(words[1]), words[2], words[3] == "dropout",
                     words[4] == "fast");
  if (words.size() > 5) runner.dump(words[5]);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "loss") {
      fmt::print("{:.9g}\n", runner.step());
    } else {
      fmt::print("{:.9g}\n", runner.median_seconds(std::stoi(line.substr(5))));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 6 && words[0] == "--serve") return serve({words.begin() + 1, words.end()});
  return table();
}
