// SPDX-License-Identifier: Apache-2.0
// The text form of bit-count learning rates.
#include <fmt/format.h>

#include <charconv>

#include "epoch_loop/run_training.h"
#include "graph/batch_norm.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

constexpr int kLeastMu = -8;
constexpr int kMostMu = 7;
constexpr std::int64_t kMostEpochs = 1'000'000;

[[noreturn]] void refuse(std::string_view part, std::string_view expected) {
  throw Error("train", "mu", fmt::format("'{}'", part), expected);
}

std::int64_t number(std::string_view text, std::string_view part, std::int64_t least,
                    std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    refuse(part, fmt::format("MU, then MU@EPOCH with growing epochs, MU from {} to {}, as in "
                             "5,4@100,3@150",
                             kLeastMu, kMostMu));
  return value;
}

}  // namespace

MuSchedule parse_mu(std::string_view text) {
  MuSchedule schedule;
  bool is_first = true;
  std::string_view rest = text;
  do {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t at = part.find('@');
    const auto mu = static_cast<int>(number(part.substr(0, at), part, kLeastMu, kMostMu));
    if (is_first != (at == std::string_view::npos))
      refuse(part, is_first ? "the first without @EPOCH" : "MU@EPOCH");
    if (is_first) {
      schedule.first = mu;
    } else {
      const std::int64_t least = schedule.later.empty() ? 0 : schedule.later.back().first + 1;
      schedule.later.emplace_back(number(part.substr(at + 1), part, least, kMostEpochs), mu);
    }
    is_first = false;
    if (comma != std::string_view::npos && rest.empty()) refuse(text, "no comma at the end");
  } while (!rest.empty());
  return schedule;
}

std::string to_string(const MuSchedule& schedule) {
  std::string text = std::to_string(schedule.first);
  for (const auto& [epoch, mu] : schedule.later) text += fmt::format(",{}@{}", mu, epoch);
  return text;
}

int MuSchedule::at(std::int64_t epoch) const {
  int mu = first;
  for (const auto& [from, value] : later) {
    if (epoch >= from) mu = value;
  }
  return mu;
}

void set_usual_course(IntegerRecipe& recipe) {
  const int first = recipe.start ? 0 : 5;
  recipe.mu = {.first = first};
  if (recipe.epochs >= 4)
    recipe.mu.later = {{recipe.epochs / 2, first - 1}, {recipe.epochs * 3 / 4, first - 2}};
  recipe.average_from = usual_average_start(recipe.epochs);
  if (!has_batch_norm(recipe.network)) return;
  use_sgd(recipe);
  recipe.options.roundings.all.error = ShiftRounding::stochastic;  // to the nearest, it collapses
}

void use_sgd(IntegerRecipe& recipe) {
  recipe.options.update = SgdUpdate{};
  recipe.options.roundings.all.gradient = ShiftRounding::stochastic;
  recipe.schedule = {.rate = CosineRate{}};
}

}  // namespace nibble::inline integer_training
