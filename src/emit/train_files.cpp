// SPDX-License-Identifier: Apache-2.0
// The texts of emitted training that hold numbers.
#include "emit/train_files.h"

#include <fmt/format.h>

#include <concepts>
#include <set>

#include "emit/train_code.h"
#include "graph/integer_form.h"

namespace nibble::inline emit {
namespace {

std::string macro(std::string_view name, std::string_view value, std::string_view words = "") {
  return fmt::format("#define NET_TRAIN_{} {}{}{}\n", name, value, words.empty() ? "" : "  // ",
                     words);
}
template <std::integral Number>
std::string macro(std::string_view name, Number number, std::string_view words = "") {
  const auto value = static_cast<std::int64_t>(number);
  return macro(name, value < 0 ? fmt::format("({})", value) : fmt::format("{}", value), words);
}

// CONV1_WEIGHT of conv1.weight; a name that was there gets the parameter's index.
class MacroNames {
 public:
  std::string of(std::string_view name, std::size_t index) {
    std::string macro = upper_case(c_part(name));
    if (!taken_.insert(macro).second) macro += fmt::format("_{}", index);
    return macro;
  }

 private:
  std::set<std::string> taken_;
};

std::int64_t unfilled_bytes(const Network& network, const TrainPlan& plan) {
  const std::size_t exponents = 2 * sizeof(std::int16_t) * (plan.answer + 1);
  return static_cast<std::int64_t>(sizeof(std::uint32_t) + exponents + plan.points + plan.memory) +
         weight_count(network);
}

std::vector<std::int64_t> widened(const auto& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::int64_t weight_count(const Network& network) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters_of(network)) count += parameter.shape.elements();
  return count;
}

std::int64_t state_bytes(const Network& network, const TrainPlan& plan) {
  return (unfilled_bytes(network, plan) + 3) / 4 * 4;
}

std::string training_constants(const Network& network, const TrainPlan& plan,
                               const TrainEmitSettings& settings) {
  const std::int64_t filling = state_bytes(network, plan) - unfilled_bytes(network, plan);
  std::string text =
      macro("BATCH", settings.batch, "images of a step, at most") +
      macro("INPUT_SIZE", plan.pictures[0].elements(), "numbers of an image") +
      macro("INPUT_EXPONENT", exponent_of(network.nodes[0].value).value()) +
      macro("CLASSES", plan.pictures[plan.answer].elements()) +
      macro("SEED", fmt::format("UINT64_C({})", settings.options.seed)) +
      macro("ARENA_BYTES", state_bytes(network, plan), "of net_train_state") +
      "\n// Parts of the state.\n" + macro("VALUES", plan.answer + 1) +
      macro("SHIFTS", plan.points) + macro("WEIGHTS", weight_count(network)) +
      macro("MEMORY", static_cast<std::int64_t>(plan.memory) + filling) +
      "\n// Where each weight begins in the state's weights, and its exponent for life.\n";
  MacroNames names;
  const std::vector<Parameter> parameters = parameters_of(network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const WeightPlace place = place_of(network, parameters[i].node, parameters[i].kind);
    const std::string name = names.of(parameters[i].name, i);
    text += macro(name, place.offset, parameters[i].shape.to_string()) +
            macro(name + "_EXPONENT", place.exponent);
  }
  return text;
}

CArray first_weights(const Model& start) {
  CArray array{"net_train_start", CType::s8, {}};
  for (const Tensor& each : start.parameters) {
    const auto weights = each.as<std::int8_t>();
    array.numbers.insert(array.numbers.end(), weights.begin(), weights.end());
  }
  return array;
}

std::string check_constants(const TrainExpectation& expectation,
                            const TrainEmitSettings& settings) {
  return macro("CHECK_IMAGES", expectation.labels.size()) + macro("CHECK_MU", settings.mu) +
         macro("CHECK_BIAS_MU", settings.bias_mu) +
         macro("CHECK_HASHES", expectation.weights.size());
}

std::vector<CArray> check_arrays(const TrainExpectation& expectation) {
  return {{"net_train_images", CType::s8, widened(expectation.images)},
          {"net_train_labels", CType::s16, widened(expectation.labels)}};
}

std::string check_hashes(const TrainExpectation& expectation) {
  std::string text = "const net_train_weights_at net_train_hashes[NET_TRAIN_CHECK_HASHES] = {\n";
  for (const WeightsAt& each : expectation.weights)
    text += fmt::format("    {{UINT64_C(0x{:016x}), {}}},\n", each.hash, each.steps);
  return text + "};\n";
}

}  // namespace nibble::inline emit
