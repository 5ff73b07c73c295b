// SPDX-License-Identifier: Apache-2.0
// Speed of training steps. Alone: float against simulated e4m3, and the share of the float peak.
// With --serve it answers bench/train_vs_torch.py, which runs PyTorch in between.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "nibble/core/npy.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"
#include "train/product.h"
#include "train/session.h"

namespace {

using namespace nibble;

constexpr double kRate = 0.001;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// All roles but the accumulator in one format.
PrecisionPolicy policy_in(const std::string& format) {
  PrecisionPolicy policy;
  if (format == "fp32") return policy;
  PolicyRule rule;
  rule.roles = {Role::weight,   Role::activation, Role::error, Role::gradient,
                Role::momentum, Role::update,     Role::master};
  rule.kinds = {"weight", "bias", "scale", "shift"};
  rule.rounding.precision.format = parse_format(format);
  policy.rules.push_back(rule);
  policy.loss_scale.start = 256;
  return policy;
}

void remove_dropout(Network& network) {
  for (Node& node : network.nodes) {
    if (is<Dropout>(node.op)) node.op = Dropout{.share = 0};
  }
}

// Random pictures; their labels are random too.
Dataset random_data(const Shape& picture, std::int64_t images) {
  Dataset data{.name = "random", .images = {}, .labels = {}, .class_names = {}, .targets = {}};
  const Shape shape = picture.rank() == 3 ? Shape{images, picture[0], picture[1], picture[2]}
                                          : Shape{images, 1, 1, picture[0]};
  data.images = Tensor(DType::u8, shape);
  data.labels = Tensor(DType::i32, {images});
  const RandomKey key{1, 2, 3};
  const auto bytes = data.images.as<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(draw32(key, i));
  const auto labels = data.labels.as<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(draw32({4, 5, 6}, i) % 10);
  return data;
}

// One network with one batch, stepped again and again.
class Runner {
 public:
  Runner(const std::string& network, std::int64_t batch, const std::string& format,
         bool has_dropout, bool is_fast)
      : recipe_{.network = load_network(network),
                .batch = batch,
                .optimizer = {.rate = kRate},
                .policy = policy_in(format),
                .is_fast = is_fast} {
    if (!has_dropout) remove_dropout(recipe_.network);
    auto& input = std::get<Input>(recipe_.network.nodes[0].op);
    const auto channels = static_cast<std::size_t>(input.shape[input.shape.rank() - 1]);
    input.mean.assign(channels, 0.5F);
    input.deviation.assign(channels, 0.25F);
    data_ = random_data(input.shape, batch);
    session_ = std::make_unique<Session>(recipe_);
    batcher_ = std::make_unique<Batcher>(data_, input_of(recipe_.network));
    for (std::int32_t i = 0; i < batch; ++i) indices_.push_back(i);
    batcher_->load(indices_, {}, {});
  }

  // Gives the loss. The batch is there already, as it is for the peer.
  double step() {
    return session_->step(*batcher_, kRate).loss_sum / static_cast<double>(indices_.size());
  }

  double median_seconds(int steps) {
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
      const double start = now();
      step();
      times.push_back(now() - start);
    }
    return median(std::move(times));
  }

  double operations() const {  // of a step: forward, errors, gradients
    double sum = 0;
    for (const std::int64_t each : multiply_accumulates(recipe_.network))
      sum += static_cast<double>(each);
    return 6 * sum * static_cast<double>(indices_.size());
  }

  void dump(const std::filesystem::path& folder) {
    write_npy(folder / "images.npy", batcher_->images());
    write_npy(folder / "labels.npy", data_.labels.view());
    write_model(folder / "model.nib", session_->snapshot(), {});
  }

 private:
  Recipe recipe_;
  Dataset data_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Batcher> batcher_;
  std::vector<std::int32_t> indices_;
};

// What oneDNN reaches on a large product with all cores: the practical peak.
double peak_operations() {
  constexpr std::int64_t kSide = 1536;
  std::vector<float> a(kSide * kSide, 1.0F);
  std::vector<float> b(kSide * kSide, 0.5F);
  std::vector<float> c(kSide * kSide);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const double start = now();
    product(kSide, kSide, kSide, {a.data(), kSide}, {b.data(), kSide}, c.data(), false, true);
    times.push_back(now() - start);
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
    Runner plain(network, batch, "fp32", true, false);
    Runner rounded(network, batch, "e4m3", true, false);
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
  Runner runner(words[0], std::stoll(words[1]), words[2], words[3] == "dropout",
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
