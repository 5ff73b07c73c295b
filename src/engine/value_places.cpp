// SPDX-License-Identifier: Apache-2.0
// Chooses places.
#include "engine/value_places.h"

#include <algorithm>

#include "core/checked.h"
#include "graph/arena.h"
#include "graph/depthwise.h"

namespace nibble {
namespace {

constexpr std::size_t kAlignment = 64;   // of values: a line of the cache
constexpr std::int64_t kThinBytes = 64;  // of a kernel's row that is read as one run

}  // namespace

bool FusedNetwork::is_depthwise_node(std::size_t i) const {
  const auto* conv = std::get_if<Conv2d>(&node(i).op);
  return conv != nullptr && is_depthwise(*conv, shapes[node(i).inputs[0]][2]);
}

ValuePlaces::ValuePlaces(const FusedNetwork& known) : known_(known) {
  find_addends();
  find_packed();
  place_values();
  for (std::size_t i = 1; i < size(); ++i) {
    if (!known_.fusion.is_absorbed(i) && home_[i] == i) order_.push_back(i);
  }
  plan_memory();
}

void ValuePlaces::place_values() {
  for (std::size_t i = 0; i < size(); ++i) {
    home_.push_back(i);
    places_.emplace_back();
    if (known_.fusion.is_absorbed(i)) continue;
    if (is_alias(i)) {
      home_[i] = home_[node(i).inputs[0]];
      places_[i] = places_[home_[i]];
    } else {
      places_[i] = place_of(i);
    }
  }
}

Place ValuePlaces::place_of(std::size_t i) const {
  Place place;
  const Shape& shape = known_.shapes[i];
  place.channels = shape[shape.rank() - 1];
  if (shape.rank() == 3) {
    place.height = shape[0];
    place.width = shape[1];
  }
  set_storage(place, known_.bounds[i].value, may_pack_[i]);
  if (is<MaxPool>(node(i).op)) {  // keeps the bytes of its input
    const std::size_t input = node(i).inputs[0];
    const Place in = known_.fusion.is_absorbed(input) ? place_of(input) : places_[input];
    place.storage = in.storage;
    place.zero = in.zero;
    place.stride = in.stride;
  }
  if (i == 0 && place.storage == FilterStorage::u8 && is_thin_input()) {
    place.border = std::get<Conv2d>(node(readers(0)[0]).op).padding.x;
    place.stride = place.channels;
  }
  check_place(place);
  return place;
}

// A flattened picture lies as the picture does, where its readers know that.
bool ValuePlaces::is_alias(std::size_t i) const {
  if (!is<Flatten>(node(i).op) || known_.options.keeps_layers) return false;
  return std::ranges::all_of(readers(i), [&](std::size_t r) { return is<Linear>(node(r).op); }) &&
         !readers(i).empty();
}

// Pictures of few channels whose one reader is a convolution.
bool ValuePlaces::is_thin_input() const {
  const Shape& shape = known_.shapes[0];
  if (readers(0).size() != 1 || shape.rank() != 3 || known_.options.keeps_layers) return false;
  const auto* conv = std::get_if<Conv2d>(&node(readers(0)[0]).op);
  return conv != nullptr && conv->groups == 1 && conv->dilation.x == 1 && shape[2] % 4 != 0 &&
         conv->kernel.x * shape[2] <= kThinBytes;
}

void ValuePlaces::find_packed() {
  may_pack_.resize(size());
  for (std::size_t i = size(); i-- > 0;) may_pack_[i] = may_pack(i);
}

// Whether all who read a value take halves of bytes; later nodes know it of theirs.
bool ValuePlaces::may_pack(std::size_t i) const {
  const EngineOptions& options = known_.options;
  if (i == 0 || readers(i).empty() || options.keeps_layers || !options.packs_halves) return false;
  if (!has_whole_panels(first_of(i))) return false;
  return std::ranges::all_of(readers(i), [&](std::size_t r) {
    const Op& op = node(r).op;
    if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->groups == 1;
    if (is<Linear>(op) || is_alias(r)) return true;
    if (is<MaxPool>(op)) return bool{may_pack_[r]};
    return is_addend(i, r);
  });
}

// False: a product whose panels end within groups of 64 channels.
bool ValuePlaces::has_whole_panels(std::size_t i) const {
  const auto* conv = std::get_if<Conv2d>(&node(i).op);
  return conv == nullptr || conv->groups == 1 || known_.is_depthwise_node(i);
}

std::size_t ValuePlaces::first_of(std::size_t last) const {
  const FusedGroup* group = known_.fusion.group_of(last);
  return group == nullptr ? last : group->first;
}

void ValuePlaces::find_addends() {
  joins_.assign(size(), nullptr);
  for (std::size_t last = 0; last < size(); ++last) {
    const FusedGroup* group = known_.fusion.group_of(last);
    if (group == nullptr || !group->addend.is_given()) continue;
    const std::size_t rescale = group->addend.rescale;
    joins_[rescale != kNoNode ? rescale : group->add] = group;
  }
}

bool ValuePlaces::is_addend(std::size_t value, std::size_t reader) const {
  const FusedGroup* group = joins_[reader];
  return group != nullptr && group->addend.node == value && has_whole_panels(group->first);
}

std::vector<std::size_t> ValuePlaces::inputs_of(std::size_t last) const {
  const FusedGroup* group = known_.fusion.group_of(last);
  if (group == nullptr) return node(last).inputs;
  std::vector<std::size_t> inputs = node(group->first).inputs;
  if (group->addend.is_given()) inputs.push_back(group->addend.node);
  return inputs;
}

void ValuePlaces::plan_memory() {
  std::vector<ArenaItem> items(size());
  const std::size_t end = order_.size() + 1;
  for (std::size_t s = 0; s < order_.size(); ++s) {
    ArenaItem& item = items[order_[s]];
    item.first = s + 1;
    item.last = std::max(item.last, s + 1);
    for (const std::size_t input : inputs_of(order_[s])) items[home_[input]].last = s + 1;
  }
  items[home_.back()].last = end;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (known_.fusion.is_absorbed(i) || home_[i] != i) continue;
    items[i].bytes = static_cast<std::size_t>(checked_sum(
        checked_product(places_[i].image_bytes(), known_.options.max_batch), kPlaceSlack));
    if (known_.options.keeps_layers) items[i].last = end;
  }
  arena_bytes_ = plan_arena(items, kAlignment);
  for (std::size_t i = 0; i < items.size(); ++i) places_[i].offset = items[home_[i]].offset;
}

}  // namespace nibble
