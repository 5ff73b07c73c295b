// SPDX-License-Identifier: Apache-2.0
// The part of nibble signature that trains in integers.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "integer_step/session.h"
#include "nibble/graph/network_text.h"

namespace nibble {
namespace {

constexpr ShiftUpdate kUpdate{.mu = 4, .bias_mu = 1};

struct Case {
  const char* network;
  std::int64_t batch;
  int steps;
  const char* words;
  IntegerOptions options = {.update = kUpdate};
};

// Pictures and labels from counters alone; those of a class share a pattern, so that there is
// something to learn.
std::uint64_t hash_of_training(const Case& each) {
  const Network network = load_network(each.network);
  IntegerSession session(network, each.options);
  const std::int64_t elements = session.tape().input_picture().elements();
  const std::int64_t width = session.tape().answer_picture().channels;
  Hasher hasher;
  IntegerAnswers answers;
  for (int step = 0; step < each.steps; ++step) {
    const RandomKey key{1, 2, static_cast<std::uint32_t>(step)};
    std::vector<std::int32_t> labels;
    std::vector<std::int8_t> mantissas;
    for (std::int64_t image = 0; image < each.batch; ++image) {
      labels.push_back(static_cast<std::int32_t>(
          draw32({3, 4, static_cast<std::uint32_t>(step)}, static_cast<std::uint64_t>(image)) %
          static_cast<std::uint32_t>(width)));
      for (std::int64_t e = 0; e < elements; ++e) {
        const auto at = static_cast<std::uint64_t>(image * elements + e);
        const auto noise = static_cast<int>(draw32(key, at) >> 26);  // 0 to 63
        const auto pattern =
            static_cast<int>(draw32({5, static_cast<std::uint32_t>(labels.back()), 0},
                                    static_cast<std::uint64_t>(e)) >>
                             26);
        mantissas.push_back(static_cast<std::int8_t>(noise + pattern - 63));
      }
    }
    answers = session.step({{.images = each.batch, .mantissas = mantissas, .exponent = -5},
                            labels,
                            {},
                            0,
                            each.batch});
  }
  for (const TrainedTensor* parameter : session.tape().parameters())
    hasher.add(std::span<const std::int8_t>(parameter->mantissas()));
  hasher.add(std::span<const std::int8_t>(answers.mantissas));
  return hasher.value();
}

IntegerOptions options_with(void (*change)(IntegerOptions&)) {
  IntegerOptions options{.update = kUpdate};
  change(options);
  return options;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> integer_hashes(bool is_long,
                                                                  const std::string& device) {
  std::vector<Case> cases = {
      {"mlp-64-32-10", 37, 50, "exact"},
      {"convnet-8x8", 20, 20, "exact"},
      {"convnet-8x8", 20, 20, "delayed",
       options_with([](IntegerOptions& options) { options.rule = ShiftRule::delayed; })},
      {"mlp-64-32-10", 16, 20, "stochastic, momentum, fraction, decay",
       options_with([](IntegerOptions& options) {
         options.roundings.all = {ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic,
                                  ShiftRounding::stochastic};
         options.update = ShiftUpdate{
             .mu = 4, .bias_mu = 1, .fraction_bits = 8, .momentum = 14, .has_decay = true};
       })},
      {"resnet20-nobn", 3, 1, "exact"}};
  if (is_long) cases.push_back({"vgg-small-7", 16, 50, "exact"});
  std::vector<std::pair<std::string, std::uint64_t>> hashes;
  for (Case& each : cases) {
    each.options.device = device;
    hashes.emplace_back(fmt::format("int8 training {} {} steps of {}, {}", each.network, each.steps,
                                    each.batch, each.words),
                        hash_of_training(each));
  }
  return hashes;
}

}  // namespace nibble
