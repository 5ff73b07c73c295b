// SPDX-License-Identifier: Apache-2.0
// Takes bits away, the cheapest first.
#include "quantization/bit_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "nibble/core/error.h"

namespace nibble::inline quantization {
namespace {

struct Move {
  std::size_t layer = 0;
  std::size_t to = 0;  // index of the choice
  double price = 0;    // noise for a byte saved
};

// Choices by layer.
using Chosen = std::vector<std::size_t>;

double price_of(const BitNoise& from, const BitNoise& to) {
  return (to.noise - from.noise) / static_cast<double>(from.bytes - to.bytes);
}

// The corners of a layer's lower convex hull, from its first choice on: prices ascend.
void add_moves(const LayerSensitivity& layer, std::size_t index, std::vector<Move>& moves) {
  std::size_t at = 0;
  while (true) {
    std::optional<Move> best;
    for (std::size_t to = at + 1; to < layer.choices.size(); ++to) {
      if (layer.choices[to].bytes >= layer.choices[at].bytes) continue;
      const double price = price_of(layer.choices[at], layer.choices[to]);
      if (!best || price < best->price) best = {.layer = index, .to = to, .price = price};
    }
    if (!best) return;
    moves.push_back(*best);
    at = best->to;
  }
}

std::vector<Move> sorted_moves(std::span<const LayerSensitivity> layers) {
  std::vector<Move> moves;
  for (std::size_t i = 0; i < layers.size(); ++i) add_moves(layers[i], i, moves);
  std::ranges::stable_sort(moves, {}, &Move::price);
  return moves;
}

BitPlan plan_of(std::span<const LayerSensitivity> layers, const Chosen& chosen) {
  BitPlan plan;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const BitNoise& choice = layers[i].choices[chosen[i]];
    plan.layers[layers[i].name] = {.weights = choice.bits, .activations = 0};
    plan.bytes += choice.bytes;
    plan.noise += choice.noise;
  }
  return plan;
}

// Gives back what takes away the most noise in the room that is left, until nothing fits.
void fill_room(std::span<const LayerSensitivity> layers, std::int64_t room, Chosen& chosen) {
  while (true) {
    Move best;
    double most = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const BitNoise& now = layers[i].choices[chosen[i]];
      for (std::size_t to = 0; to < chosen[i]; ++to) {
        const BitNoise& wider = layers[i].choices[to];
        if (wider.bytes - now.bytes > room || now.noise - wider.noise <= most) continue;
        most = now.noise - wider.noise;
        best = {.layer = i, .to = to};
      }
    }
    if (most == 0) return;
    room -= layers[best.layer].choices[best.to].bytes -
            layers[best.layer].choices[chosen[best.layer]].bytes;
    chosen[best.layer] = best.to;
  }
}

}  // namespace

std::vector<BitPlan> bit_plans(std::span<const LayerSensitivity> layers) {
  Chosen chosen(layers.size());
  std::vector<BitPlan> plans = {plan_of(layers, chosen)};
  for (const Move& move : sorted_moves(layers)) {
    chosen[move.layer] = move.to;
    plans.push_back(plan_of(layers, chosen));
  }
  return plans;
}

BitPlan choose_bits(std::span<const LayerSensitivity> layers, std::int64_t most_bytes) {
  Chosen chosen(layers.size());
  std::int64_t bytes = plan_of(layers, chosen).bytes;
  for (const Move& move : sorted_moves(layers)) {
    if (bytes <= most_bytes) break;
    const std::vector<BitNoise>& choices = layers[move.layer].choices;
    bytes -= choices[chosen[move.layer]].bytes - choices[move.to].bytes;
    chosen[move.layer] = move.to;
  }
  if (bytes > most_bytes) {
    throw Error("quantize", "size of all weights", fmt::format("{} bytes", most_bytes),
                fmt::format("{} or more", bytes));
  }
  fill_room(layers, most_bytes - bytes, chosen);
  return plan_of(layers, chosen);
}

std::string bit_plan_text(const BitPlan& plan) {
  std::map<int, int, std::greater<>> counts;
  for (const auto& [name, bits] : plan.layers) ++counts[bits.weights];
  std::string text = fmt::format("{} bytes of weights, layers:", plan.bytes);
  for (const auto& [bits, count] : counts) {
    text += fmt::format("{} {} int{}", text.ends_with(':') ? "" : ",", count, bits);
  }
  return text;
}

}  // namespace nibble::inline quantization
