// SPDX-License-Identifier: Apache-2.0
// Runs the trainer on the images of a check.
#include "emit/train_files.h"

#include <algorithm>
#include <cstring>

#include "data/batch_order.h"
#include "epoch_loop/training_data.h"
#include "graph/input_table.h"
#include "graph/integer_form.h"
#include "integer_training/integer_batcher.h"
#include "nibble/core/error.h"

namespace nibble::inline emit {
namespace {

constexpr std::int64_t kHashes = 4;

Tensor first_rows(ConstTensorView from, std::int64_t count) {
  std::vector<std::int64_t> extents(from.shape().extents().begin(), from.shape().extents().end());
  extents[0] = count;
  Tensor rows(from.dtype(), Shape(extents));
  std::memcpy(rows.data(), from.data(), rows.bytes());
  return rows;
}

Dataset first_examples(const Dataset& data, std::int64_t count) {
  return {.name = data.name,
          .images = first_rows(data.images.view(), count),
          .labels = first_rows(data.labels.view(), count),
          .class_names = data.class_names,
          .targets = {}};
}

std::vector<std::int8_t> mantissas_of(const Input& input, int exponent, const Dataset& data) {
  std::vector<std::int8_t> mantissas;
  if (data.images.dtype() == DType::f32) {
    const InputRounder round(int8_of(exponent));
    for (const float each : data.images.as<float>())
      mantissas.push_back(static_cast<std::int8_t>(round(static_cast<double>(each))));
    return mantissas;
  }
  const auto channels = static_cast<std::size_t>(data.images.shape()[3]);
  const std::vector<std::int32_t> table = input_table(input, int8_of(exponent), channels);
  const auto bytes = data.images.as<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    mantissas.push_back(static_cast<std::int8_t>(table[i % channels * 256 + bytes[i]]));
  return mantissas;
}

void set_weights(IntegerSession& session, const Model& start) {
  const std::vector<Parameter> parameters = parameters_of(start.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    TrainedTensor& tensor = *session.tape().parameters()[i];
    const Node& node = start.network.nodes[parameters[i].node];
    tensor.write_mantissas(start.parameters[i].as<std::int8_t>(),
                           exponent_of(tensor.is_bias() ? node.bias : node.weight).value());
  }
  session.set_steps(0);
}

// FNV-1a.
std::uint64_t hash_of_weights(const IntegerSession& session) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const TrainedTensor* each : session.tape().parameters()) {
    for (const std::int8_t weight : each->mantissas())
      hash = (hash ^ static_cast<std::uint8_t>(weight)) * 0x100000001B3u;
  }
  return hash;
}

}  // namespace

TrainExpectation expected_training(const Model& start, const Dataset& examples,
                                   const TrainEmitSettings& settings) {
  check_data(start.network, examples);
  if (examples.has_targets())
    throw Error("emit", "data " + examples.name, "targets", "labels to train by");
  const Dataset data = first_examples(examples, std::min(examples.size(), settings.check_images));
  const Input& input = input_of(start.network);
  const int exponent = exponent_of(start.network.nodes[0].value).value();

  IntegerSession session(start.network, settings.options);
  session.set_update(ShiftUpdate{.mu = settings.mu, .bias_mu = settings.bias_mu});
  set_weights(session, start);
  IntegerBatcher batcher(data, input_scale(input, data, exponent),
                         session.tape().answer_picture().channels);
  TrainExpectation expectation{
      .images = mantissas_of(input, exponent, data), .labels = {}, .weights = {}};
  std::ranges::copy(data.labels.as<std::int32_t>(), std::back_inserter(expectation.labels));
  for (std::uint32_t epoch = 0; session.steps() < settings.check_steps; ++epoch) {
    const std::vector<std::int32_t> order =
        epoch_order(static_cast<std::int32_t>(data.size()), settings.options.seed, epoch);
    const auto batch = static_cast<std::size_t>(settings.batch);
    for (std::size_t begin = 0; begin < order.size() && session.steps() < settings.check_steps;
         begin += batch) {
      const auto indices = std::span(order).subspan(begin, std::min(batch, order.size() - begin));
      session.step(batcher.load(indices, {}, {}));
      const std::int64_t done = session.steps() * kHashes / settings.check_steps;
      if (done > (session.steps() - 1) * kHashes / settings.check_steps)
        expectation.weights.push_back({session.steps(), hash_of_weights(session)});
    }
  }
  return expectation;
}

}  // namespace nibble::inline emit
