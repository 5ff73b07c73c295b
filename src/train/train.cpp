// SPDX-License-Identifier: Apache-2.0
// Trains a network by a recipe, into a run folder.
#include "nibble/train/train.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/data/batch_order.h"
#include "nibble/run/interrupt.h"
#include "nibble/run/provenance.h"
#include "train/trainer.h"

namespace nibble {
namespace {

Dataset chosen_images(const Dataset& data, std::span<const std::int32_t> indices) {
  Dataset part{.name = data.name,
               .images = {},
               .labels = {},
               .class_names = data.class_names,
               .targets = {}};
  const Shape& shape = data.images.shape();
  const auto count = static_cast<std::int64_t>(indices.size());
  part.images = Tensor(data.images.dtype(), {count, shape[1], shape[2], shape[3]});
  gather_images(data.images.view(), indices, {}, {}, part.images.view());
  if (data.has_targets()) {
    const std::int64_t width = data.targets.shape()[1];
    part.targets = Tensor(DType::f32, {count, width});
    float* to = part.targets.as<float>().data();
    for (const std::int32_t index : indices) {
      to = std::copy_n(data.targets.as<float>().data() + index * width, width, to);
    }
    return part;
  }
  part.labels = Tensor(DType::i32, {count});
  std::int32_t* to = part.labels.as<std::int32_t>().data();
  for (const std::int32_t index : indices)
    *to++ = data.labels.as<std::int32_t>()[static_cast<std::size_t>(index)];
  return part;
}

std::int32_t validation_count(const Recipe& recipe, std::int64_t images) {
  const double wanted = recipe.validation < 1
                            ? std::floor(recipe.validation * static_cast<double>(images))
                            : recipe.validation;
  if (recipe.validation != 0 && !(wanted >= 1 && wanted < static_cast<double>(images))) {
    throw Error("train", "validation", fmt::format("{}", recipe.validation),
                fmt::format("a share below 1, or fewer than the {} images that train", images));
  }
  return static_cast<std::int32_t>(wanted);
}

// The recipe as it will run: the input knows its mean and deviation, the network its classes.
Recipe complete(const Recipe& recipe, const TrainingData& data) {
  Recipe completed = recipe;
  const std::vector<PolicyRule> own = own_rules(recipe.network);
  completed.policy.rules.insert(completed.policy.rules.begin(), own.begin(), own.end());
  if (data.train.has_targets()) completed.early_stopping.metric = Metric::val_loss;
  auto& input = std::get<Input>(completed.network.nodes[0].op);
  if (!recipe.mean.empty()) input.mean = recipe.mean;
  if (!recipe.deviation.empty()) input.deviation = recipe.deviation;
  if (data.train.images.dtype() == DType::f32) {
    if (!input.mean.empty() || !input.deviation.empty()) {
      throw Error("train", "mean or deviation", "numbers for data that is f32",
                  "none: floats are taken as they are");
    }
  } else {
    const ChannelMoments moments = channel_moments(data.train, data.indices);
    if (input.mean.empty()) input.mean = moments.mean;
    if (input.deviation.empty()) input.deviation = moments.deviation;
  }
  const auto channels = static_cast<std::size_t>(data.train.images.shape()[3]);
  for (std::vector<float>* each : {&input.mean, &input.deviation}) {
    if (!each->empty() && each->size() != channels) {
      throw Error("train", "numbers of mean or deviation", std::to_string(each->size()),
                  fmt::format("{}, the channels of {}", channels, recipe.data));
    }
    // A vector has as many channels as features.
    const auto wanted = static_cast<std::size_t>(input.shape[input.shape.rank() - 1]);
    for (std::size_t i = channels; !each->empty() && i < wanted; ++i)
      each->push_back((*each)[i % channels]);
  }
  const std::int64_t answers = infer_shapes(recipe.network)[output_of(recipe.network)].elements();
  if (std::cmp_equal(data.train.class_names.size(), answers)) {
    completed.network.class_names = data.train.class_names;
  }
  return completed;
}

void check(const Recipe& recipe) {
  if (!is_loss(recipe.network.nodes.back().op)) {
    throw Error("train", "last layer of " + recipe.network.name,
                std::string(name_of(recipe.network.nodes.back().op)), "a loss");
  }
  if (recipe.early_stopping.patience > 0 && recipe.validation == 0) {
    throw Error("train", "early stopping", "no validation split",
                "--val, so that nothing is chosen by the test set");
  }
  check_policy(recipe.policy, recipe.network);
}

}  // namespace

TrainingData load_training_data(const Recipe& recipe) {
  const LoadOptions options{.image_size = recipe.image_size};
  TrainingData data{.train = load_dataset(recipe.data, Split::train, options),
                    .test = {},
                    .indices = {},
                    .validation = {}};
  check_data(recipe.network, data.train);
  if (has_split(recipe.data, Split::test)) {
    data.test = load_dataset(recipe.data, Split::test, options);
    check_data(recipe.network, *data.test);
  }
  const auto count = static_cast<std::int32_t>(data.train.size());
  const std::int32_t held = validation_count(recipe, count);
  if (held == 0) {
    data.indices.resize(static_cast<std::size_t>(count));
    std::iota(data.indices.begin(), data.indices.end(), 0);
    return data;
  }
  HoldOut split = hold_out(count, held, recipe.seed);
  data.indices = std::move(split.train);
  data.validation = chosen_images(data.train, split.validation);
  return data;
}

TrainResult train(const Recipe& recipe, const TrainOptions& options) {
  check(recipe);
  const TrainingData data = load_training_data(recipe);
  const Recipe completed = complete(recipe, data);
  const InterruptGuard guard;  // from here on a Ctrl-C leaves a checkpoint
  RunFolder folder(options.folder, options.mode);
  Trainer trainer(completed, data, options, folder);
  const bool is_resumed = options.mode == RunFolderMode::resume;
  if (is_resumed) trainer.resume();
  std::unique_ptr<EventSink> events;
  if (options.make_events) {
    events =
        options.make_events(folder, is_resumed ? std::optional(trainer.steps() + 1) : std::nullopt);
    trainer.set_events(events.get());
  }
  folder.write_settings(settings_json(this_run(), to_json(completed)));
  return trainer.run();
}

}  // namespace nibble
