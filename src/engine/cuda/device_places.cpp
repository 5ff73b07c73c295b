// SPDX-License-Identifier: Apache-2.0
// Chooses places on a GPU.
#include "engine/cuda/device_places.h"

#include <algorithm>

#include "core/checked.h"
#include "engine/cuda/product_parts.h"
#include "graph/arena.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

constexpr std::size_t kDeviceAlignment = 256;
constexpr std::int64_t kMostChunks = INT32_MAX;  // of a batch, counted by kernels

// A convolution whose windows are gathered, zeros outside of the picture included.
bool gathers_outside(const ProgramStep& step) {
  const auto* law = std::get_if<ProductLaw>(&step.law);
  const Conv2d* conv = law == nullptr ? nullptr : std::get_if<Conv2d>(&law->op);
  return conv != nullptr && conv->groups == 1 && conv->padding != Extent2{0, 0};
}

}  // namespace

DevicePlaces::DevicePlaces(const EngineProgram& program, const EngineOptions& options,
                           bool is_copied)
    : program_(program),
      keeps_layers_(options.keeps_layers),
      places_(program.values.size()),
      home_(program.values.size()) {
  find_readers();
  for (std::size_t i = 0; i < places_.size(); ++i) place_value(i);
  lay_entry_out(is_copied);
  if (is_copied) fill_lines();
  add_borders(is_copied);
  count_images(options.max_batch);
  plan_memory();
}

void DevicePlaces::find_readers() {
  readers_.resize(program_.values.size());
  is_addend_.resize(program_.values.size());
  givers_.assign(program_.values.size(), nullptr);
  for (const ProgramStep& step : program_.steps) {
    givers_[step.output] = &step;
    for (const std::size_t input : step.inputs) readers_[input].push_back(&step);
    if (const FinishLaw* law = step.finish(); law != nullptr && law->addend != kNoNode)
      is_addend_[law->addend] = true;
  }
}

// Only linear layers know how the picture lies.
bool DevicePlaces::is_alias(const ProgramStep& step) const {
  const std::vector<const ProgramStep*>& readers = readers_[step.output];
  if (step.single<Flatten>() == nullptr || keeps_layers_ || readers.empty() ||
      is_addend_[step.output]) {
    return false;
  }
  return std::ranges::all_of(readers, [](const ProgramStep* reader) {
    const auto* law = std::get_if<ProductLaw>(&reader->law);
    return law != nullptr && std::holds_alternative<Linear>(law->op);
  });
}

void DevicePlaces::place_value(std::size_t value) {
  const ProgramValue& what = program_.values[value];
  const ProgramStep* giver = givers_[value];
  DevicePlace& place = places_[value];
  home_[value] = value;
  if (giver != nullptr && is_alias(*giver)) {
    home_[value] = home_[giver->inputs[0]];
    place = places_[home_[value]];
    return;
  }
  place.picture = what.picture;
  place.set_storage({what.info.low, what.info.high});
  if (giver == nullptr) return;
  // The largest of some is kept as all of them are.
  if (const LargestLaw* largest = giver->largest()) place.set_storage_as(places_[largest->pooled]);
  if (giver->single<MaxPool>() != nullptr) place.set_storage_as(places_[giver->inputs[0]]);
}

// Few channels of bytes that one convolution reads.
void DevicePlaces::lay_entry_out(bool is_copied) {
  entry_ = EntryLayout::plain(places_[0].picture);
  if (keeps_layers_ || places_[0].has_words || readers_[0].size() != 1 || is_addend_[0]) return;
  const auto* law = std::get_if<ProductLaw>(&readers_[0][0]->law);
  const Conv2d* conv = law == nullptr ? nullptr : std::get_if<Conv2d>(&law->op);
  if (conv == nullptr || conv->groups > 1 || law->finish.has_wide_sums) return;
  // The copy engine fills in the byte 0 outside, which is the number `base`.
  const bool has_border = is_copied && places_[0].base != 0 && conv->padding != Extent2{0, 0};
  const bool can_overlap = is_copied && conv->channels <= 64;
  entry_ = EntryLayout::best(places_[0].picture, *conv, can_overlap, has_border);
  places_[0].picture = entry_.stored();
}

void DevicePlaces::fill_lines() {
  for (DevicePlace& place : places_) place.more_chunks = place.chunks() % 2;
  if (entry_.overlaps()) places_[0].more_chunks = 0;
}

void DevicePlaces::add_borders(bool is_copied) {
  const auto needs_border = [&](const ProgramStep* reader) {
    return gathers_outside(*reader) &&
           !(is_copied && can_be_copied({*this, *reader, std::get<ProductLaw>(reader->law)}));
  };
  std::vector<bool> need(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i)
    need[i] = places_[i].base != 0 && !places_[i].has_words &&
              std::ranges::any_of(readers_[i], needs_border);
  if (entry_.has_border()) need[0] = false;
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i].has_border = need[i];
  for (std::size_t i = 0; i < places_.size(); ++i)
    places_[i].has_border = places_[home_[i]].has_border;
}

void DevicePlaces::count_images(std::int64_t wanted) {
  images_ = wanted;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::int64_t chunks = checked_product(
        checked_sum(places_[i].picture.pixels(), std::int64_t{1}), places_[i].chunks());
    if (chunks > kMostChunks)
      throw Error("engine", program_.values[i].info.name, "a value of 2^35 bytes", "less for a GPU",
                  ErrorKind::limit);
    images_ = std::min(images_, kMostChunks / chunks);
  }
}

void DevicePlaces::plan_memory() {
  std::vector<ArenaItem> items(places_.size());
  std::size_t now = 0;
  const auto give = [&](std::size_t value) {
    items[value].first = items[value].last = now;
    items[value].bytes =
        static_cast<std::size_t>(checked_product(places_[value].image_bytes(), images_));
  };
  give(0);
  for (const ProgramStep& step : program_.steps) {
    if (is_alias(step)) continue;
    ++now;
    give(step.output);
    if (const LargestLaw* largest = step.largest()) give(largest->pooled);
    for (const std::size_t input : step.reads()) items[home_[input]].last = now;
  }
  items[home_.back()].last = now + 1;
  arena_bytes_ = plan_arena(items, kDeviceAlignment);
  for (std::size_t i = 0; i < items.size(); ++i) places_[i].offset = items[home_[i]].offset;
}

}  // namespace nibble::inline engine
