// SPDX-License-Identifier: Apache-2.0
// Sessions on made-up batches, for tests that compare who computes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "graph/batch_norm.h"
#include "integer_step/integer_test_support.h"
#include "integer_step/session.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {

// Steps on pictures and labels from counters alone.
template <class Session>
void run_steps(Session& session, int steps, std::int64_t images) {
  const std::int64_t width = session.tape().answer_picture().channels;
  for (int step = 0; step < steps; ++step) {
    Draws draws(static_cast<std::uint64_t>(step) + 1);
    const reference::Block batch = random_block(session.tape().input_picture(), images, -7, draws);
    std::vector<std::int32_t> labels;
    std::vector<std::int32_t> targets;
    for (std::int64_t i = 0; i < images; ++i)
      labels.push_back(draws.in(0, static_cast<int>(width) - 1));
    for (std::int64_t i = 0; i < images * width; ++i) targets.push_back(draws.in(-65536, 65536));
    session.submit({.input = input_of_block(batch),
                    .labels = labels,
                    .targets = targets,
                    .all_images = images});
    session.take_answers();
  }
}

inline std::vector<std::vector<std::int8_t>> weights_of(const IntegerSession& session) {
  std::vector<std::vector<std::int8_t>> weights;
  for (const TrainedTensor* each : session.tape().parameters())
    weights.push_back(each->mantissas());
  return weights;
}

inline std::vector<std::vector<std::int32_t>> fine_of(const IntegerSession& session) {
  std::vector<std::vector<std::int32_t>> all;
  for (const TrainedTensor* each : session.tape().parameters()) all.push_back(each->read().fine);
  return all;
}

// Batch norms of sums, with and without groups, of values, of a product with a bias, of a vector.
inline constexpr std::string_view kNormedNetwork = R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 12, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "an" }, { op = "relu", name = "ar" },
  { op = "conv2d", name = "b", channels = 12, kernel = 3, padding = 1, groups = 12 },
  { op = "batch_norm", name = "bn" },
  { op = "add", from = ["bn", "ar"] }, { op = "relu", name = "r" },
  { op = "max_pool", kernel = 2, stride = 2 },
  { op = "batch_norm", name = "values" },
  { op = "conv2d", name = "c", channels = 20, kernel = 3, stride = 2, bias = true },
  { op = "batch_norm", name = "cn" },
  { op = "global_average_pool" },
  { op = "linear", name = "hidden", features = 9 }, { op = "batch_norm", name = "hn" },
  { op = "relu" },
  { op = "linear", name = "last", features = 5, bias = true }, { op = "softmax_cross_entropy" },
])";

inline constexpr std::string_view kBoth = "check(cpu,reference)";

// The definitions are slow: larger networks take part in the long tests.
inline constexpr std::int64_t kMostProducts = 20'000'000;

struct NamedCase {
  std::string name;
  Network network;
};

inline bool has_form(const Network& network) {
  try {
    check_integer_form(network);
    return true;
  } catch (const Error&) {
    return false;
  }
}

inline bool has_concat(const Network& network) {
  return std::ranges::any_of(network.nodes, [](const Node& each) { return is<Concat>(each.op); });
}

inline std::vector<NamedCase> networks(bool is_long) {
  std::vector<NamedCase> cases;
  for (const NamedNetwork& each : named_networks()) {
    NamedCase one{std::string(each.name), parse_network(each.toml, each.name)};
    const std::vector<std::int64_t> products = multiply_accumulates(one.network);
    const std::int64_t all = std::accumulate(products.begin(), products.end(), std::int64_t{0});
    const bool is_large = all > kMostProducts;
    if (is_large == is_long && all < 2'000'000'000 && has_form(one.network))
      cases.push_back(std::move(one));
  }
  EXPECT_FALSE(cases.empty());
  return cases;
}

// The rule that batch norms need.
inline constexpr SgdUpdate kSgdOfTests{.rate = {20000, -20}, .decay = {20000, -28}};

inline void expect_agreement(const NamedCase& each, IntegerOptions options, int steps,
                             std::int64_t images, std::string_view both = kBoth) {
  SCOPED_TRACE(each.name);
  options.device = both;
  if (has_batch_norm(each.network) && std::holds_alternative<ShiftUpdate>(options.update))
    options.update = kSgdOfTests;
  IntegerSession session(each.network, options);
  EXPECT_NO_THROW(run_steps(session, steps, images));
}

}  // namespace nibble::inline integer_step
