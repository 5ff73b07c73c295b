// SPDX-License-Identifier: Apache-2.0
// The data of a run: loaded, checked, cut in two, measured.
#include "epoch_loop/training_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "core/hash.h"
#include "data/batch_order.h"
#include "nibble/core/error.h"

namespace nibble::inline epoch_loop {
namespace {

Dataset chosen_images(const Dataset& data, std::span<const std::int32_t> indices) {
  Dataset part{.name = data.name,
               .images = data.images.chosen(indices),
               .labels = {},
               .class_names = data.class_names,
               .targets = {}};
  const auto count = static_cast<std::int64_t>(indices.size());
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

std::int32_t validation_count(const RunSettings& settings, std::int64_t images) {
  const double wanted = settings.validation < 1
                            ? std::floor(settings.validation * static_cast<double>(images))
                            : settings.validation;
  if (settings.validation != 0 && !(wanted >= 1 && wanted < static_cast<double>(images))) {
    throw Error("train", "validation", fmt::format("{}", settings.validation),
                fmt::format("a share below 1, or fewer than the {} images that train", images));
  }
  return static_cast<std::int32_t>(wanted);
}

}  // namespace

TrainingData load_training_data(const RunSettings& settings) {
  const LoadOptions options{.image_size = settings.image_size,
                            .input = input_of(settings.network).shape,
                            .skips_broken = settings.skips_broken};
  TrainingData data{.train = load_dataset(settings.data, Split::train, options),
                    .test = {},
                    .indices = {},
                    .validation = {}};
  check_data(settings.network, data.train);
  check_augment(settings.augment, data.train);
  if (has_split(settings.data, Split::test)) {
    data.test = load_dataset(settings.data, Split::test, options);
    check_data(settings.network, *data.test);
  }
  const auto count = static_cast<std::int32_t>(data.train.size());
  const std::int32_t held = validation_count(settings, count);
  if (held == 0) {
    data.indices.resize(static_cast<std::size_t>(count));
    std::iota(data.indices.begin(), data.indices.end(), 0);
    return data;
  }
  HoldOut split = hold_out(count, held, settings.seed);
  data.indices = std::move(split.train);
  data.validation = chosen_images(data.train, split.validation);
  return data;
}

ChannelMoments channel_moments(const Dataset& data, std::span<const std::int32_t> indices) {
  const auto channels = static_cast<std::size_t>(data.images.shape()[3]);
  ChannelMoments moments{std::vector<float>(channels, 0.0F), std::vector<float>(channels, 1.0F)};
  if (data.images.dtype() != DType::u8 || indices.empty()) return moments;
  const auto image = static_cast<std::size_t>(data.images.elements() / data.size());
  std::vector<std::uint64_t> sum(channels);
  std::vector<std::uint64_t> squares(channels);
  std::mutex mutex;
  data.images.for_each(indices, [&](std::size_t, const std::uint8_t* picture) {
    std::vector<std::uint64_t> own_sum(channels);
    std::vector<std::uint64_t> own_squares(channels);
    for (std::size_t i = 0; i < image; i += channels) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint64_t byte = picture[i + c];
        own_sum[c] += byte;
        own_squares[c] += byte * byte;
      }
    }
    const std::lock_guard lock(mutex);  // sums of integers know no order
    for (std::size_t c = 0; c < channels; ++c) {
      sum[c] += own_sum[c];
      squares[c] += own_squares[c];
    }
  });
  const double count = static_cast<double>(image / channels) * static_cast<double>(indices.size());
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - mean * mean;
    moments.mean[c] = static_cast<float>(mean / 255.0);
    if (variance > 0) moments.deviation[c] = static_cast<float>(std::sqrt(variance) / 255.0);
  }
  return moments;
}

RunSettings complete(const RunSettings& settings, const TrainingData& data) {
  RunSettings completed = settings;
  completed.data_hash = hex(hash_of(data.train));
  completed.test_hash = data.test ? hex(hash_of(*data.test)) : "none";
  if (data.train.has_targets()) completed.early_stopping.metric = Metric::val_loss;
  auto& input = std::get<Input>(completed.network.nodes[0].op);
  if (!settings.mean.empty()) input.mean = settings.mean;
  if (!settings.deviation.empty()) input.deviation = settings.deviation;
  if (data.train.images.dtype() == DType::f32) {
    if (!input.mean.empty() || !input.deviation.empty()) {
      throw Error("train", "mean or deviation", "numbers for data that is f32",
                  "none: floats are taken as they are");
    }
  } else {
    // A pass over all pictures, which those that are not in memory had better be spared.
    if (input.mean.empty() || input.deviation.empty()) {
      const ChannelMoments moments = channel_moments(data.train, data.indices);
      if (input.mean.empty()) input.mean = moments.mean;
      if (input.deviation.empty()) input.deviation = moments.deviation;
    }
  }
  const auto channels = static_cast<std::size_t>(data.train.images.shape()[3]);
  for (std::vector<float>* each : {&input.mean, &input.deviation}) {
    if (!each->empty() && each->size() != channels) {
      throw Error("train", "numbers of mean or deviation", std::to_string(each->size()),
                  fmt::format("{}, the channels of {}", channels, settings.data));
    }
    // A vector has as many channels as features.
    const auto wanted = static_cast<std::size_t>(input.shape[input.shape.rank() - 1]);
    for (std::size_t i = channels; !each->empty() && i < wanted; ++i)
      each->push_back((*each)[i % channels]);
  }
  // As the start had it, which the data's own moments must not change.
  if (settings.start && settings.mean.empty() && settings.deviation.empty()) {
    const Input& before = input_of(settings.start->network);
    input.mean = before.mean;
    input.deviation = before.deviation;
  }
  const std::int64_t answers =
      infer_shapes(settings.network)[output_of(settings.network)].elements();
  if (std::cmp_equal(data.train.class_names.size(), answers)) {
    completed.network.class_names = data.train.class_names;
  }
  return completed;
}

}  // namespace nibble::inline epoch_loop
