// SPDX-License-Identifier: Apache-2.0
// What tests of integer runs share: made-up pictures, steps of a learner, a model that answers.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "integer_training/integer_learner.h"
#include "integer_training/integer_model.h"
#include "nibble/core/philox.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline integer_training {

// Bytes by chance, brighter in the row of their label.
inline Dataset made_up_pictures(const Shape& picture, std::int64_t count, std::int32_t classes) {
  Dataset data{.name = "made up",
               .images = Tensor(DType::u8, {count, picture[0], picture[1], picture[2]}),
               .labels = Tensor(DType::i32, {count}),
               .class_names = {},
               .targets = {}};
  for (std::int32_t i = 0; i < classes; ++i) data.class_names.push_back(std::to_string(i));
  const std::int64_t row = picture[1] * picture[2];
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(draw32({1, 1, 0}, static_cast<std::uint64_t>(i)) %
                                                 static_cast<std::uint32_t>(classes));
    data.labels.as<std::int32_t>()[static_cast<std::size_t>(i)] = label;
    for (std::int64_t k = 0; k < picture.elements(); ++k) {
      const auto at = static_cast<std::size_t>(i * picture.elements() + k);
      const std::uint32_t light = k / row % classes == label ? 128 : 0;
      data.images.as<std::uint8_t>()[at] =
          static_cast<std::uint8_t>(draw32({1, 0, 0}, at) % 128 + light);
    }
  }
  return data;
}

inline TrainingData made_up_data(const Shape& picture, std::int64_t count, std::int32_t classes) {
  TrainingData data{.train = made_up_pictures(picture, count, classes),
                    .test = {},
                    .indices = {},
                    .validation = {}};
  for (std::int32_t i = 0; i < count; ++i) data.indices.push_back(i);
  return data;
}

inline void take_steps(IntegerLearner& learner, const TrainingData& data, std::int64_t batch,
                       std::int64_t steps, std::int64_t all_steps,
                       Observation* observation = nullptr) {
  const auto images = static_cast<std::int64_t>(data.indices.size());
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t step = learner.steps();
    std::vector<std::int32_t> indices;
    for (std::int64_t k = 0; k < batch; ++k)
      indices.push_back(static_cast<std::int32_t>((step * batch + k) % images));
    learner.step({.indices = indices,
                  .epoch = step / 10,
                  .position = {step, 10, all_steps / 10},
                  .observation = observation});
  }
}

// As from a file.
inline Checkpoint checkpoint_of(const IntegerLearner& learner) {
  Checkpoint checkpoint;
  std::vector<NamedTensorView> views;
  learner.put_state(checkpoint.words, views);
  for (const NamedTensorView& each : views) {
    Tensor copy(each.tensor.dtype(), each.tensor.shape());
    std::memcpy(copy.data(), each.tensor.data(), each.tensor.bytes());
    checkpoint.tensors.push_back({each.name, std::move(copy)});
  }
  return checkpoint;
}

// The last weights, and their average where there is one.
inline std::vector<std::uint64_t> hashes_of(const IntegerLearner& learner) {
  std::vector<std::uint64_t> hashes = {weights_hash(learner.snapshot())};
  if (const std::optional<Model> average = learner.average())
    hashes.push_back(weights_hash(*average));
  return hashes;
}

// After all steps, saved and taken up again by another learner after `resumed` of them (0: never).
inline std::vector<std::uint64_t> train_made_up(const IntegerRecipe& recipe,
                                                const TrainingData& data, std::int64_t steps,
                                                std::int64_t resumed = 0) {
  auto learner = std::make_unique<IntegerLearner>(recipe, data, nullptr);
  if (resumed > 0) {
    take_steps(*learner, data, recipe.batch, resumed, steps);
    const Checkpoint checkpoint = checkpoint_of(*learner);
    learner = std::make_unique<IntegerLearner>(recipe, data, nullptr);
    learner->take_state(checkpoint);
  }
  take_steps(*learner, data, recipe.batch, steps - learner->steps(), steps);
  return hashes_of(*learner);
}

// With the model's weights. The model must outlive it.
inline IntegerPredictor predictor_of(const Model& model, const std::string& device = "cpu") {
  IntegerPredictor predictor(model.network, device);
  set_weights(predictor, model);
  return predictor;
}

}  // namespace nibble::inline integer_training
