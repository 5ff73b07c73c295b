// SPDX-License-Identifier: Apache-2.0
// Chooses places.
#include "engine/cpu/value_places.h"

#include <algorithm>

#include "core/checked.h"
#include "graph/arena.h"
#include "kernels/engine/engine_kernels.h"

namespace nibble::inline engine {
namespace {

constexpr std::size_t kAlignment = 64;   // of values: a line of the cache
constexpr std::int64_t kThinBytes = 64;  // of a kernel's row that is read as one run

// The convolution of a step; null: it has none.
const Conv2d* conv_of(const ProgramStep& step) {
  const auto* law = std::get_if<ProductLaw>(&step.law);
  return law == nullptr ? nullptr : std::get_if<Conv2d>(&law->op);
}

bool is_linear(const ProgramStep& step) {
  return std::holds_alternative<ProductLaw>(step.law) && conv_of(step) == nullptr;
}

// False: a product whose panels end within groups of 64 channels.
bool has_whole_panels(const ProgramStep& step) {
  const Conv2d* conv = conv_of(step);
  return conv == nullptr || conv->groups == 1 || std::get<ProductLaw>(step.law).is_depthwise;
}

}  // namespace

bool packs_halves(const EngineOptions& options) {
  return options.packs_halves.value_or(engine_kernels().multiply_matrix == nullptr);
}

ValuePlaces::ValuePlaces(const EngineProgram& program, const EngineOptions& options)
    : program_(program), options_(options), packs_halves_(packs_halves(options)) {
  find_readers();
  find_packed();
  place_values();
  plan_memory();
}

void ValuePlaces::find_readers() {
  readers_.resize(program_.values.size());
  givers_.assign(program_.values.size(), nullptr);
  for (const ProgramStep& step : program_.steps) {
    givers_[step.output] = &step;
    for (const std::size_t input : step.inputs) readers_[input].push_back({&step, false});
    if (const FinishLaw* law = step.finish(); law != nullptr && law->addend != kNoNode)
      readers_[law->addend].push_back({&step, true});
  }
}

// Only linear layers know how the picture lies.
bool ValuePlaces::is_alias(const ProgramStep& step) const {
  const std::vector<Reader>& readers = readers_[step.output];
  if (step.single<Flatten>() == nullptr || options_.keeps_layers || readers.empty()) return false;
  return std::ranges::all_of(readers,
                             [](const Reader& r) { return is_linear(*r.step) && !r.takes_addend; });
}

void ValuePlaces::find_packed() {
  may_pack_.resize(program_.values.size());
  for (std::size_t i = may_pack_.size(); i-- > 0;) may_pack_[i] = may_pack(i);
  for (const ProgramStep& step : program_.steps) {
    if (const LargestLaw* largest = step.largest())
      may_pack_[largest->pooled] = may_pack_[step.output];
  }
}

// Whether all who read a value take halves of bytes; later values know it of theirs.
bool ValuePlaces::may_pack(std::size_t value) const {
  const ProgramStep* giver = givers_[value];
  if (giver == nullptr || readers_[value].empty() || options_.keeps_layers || !packs_halves_ ||
      !has_whole_panels(*giver)) {
    return false;
  }
  return std::ranges::all_of(readers_[value],
                             [this](const Reader& reader) { return takes_packed(reader); });
}

bool ValuePlaces::takes_packed(const Reader& reader) const {
  const ProgramStep& step = *reader.step;
  if (reader.takes_addend) return has_whole_panels(step);
  if (const Conv2d* conv = conv_of(step)) return conv->groups == 1;
  if (step.single<MaxPool>() != nullptr) return may_pack_[step.output];
  return is_linear(step) || is_alias(step);
}

void ValuePlaces::place_values() {
  places_.resize(program_.values.size());
  home_.resize(program_.values.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    home_[i] = i;
    if (!program_.values[i].is_stored) continue;
    if (givers_[i] != nullptr && is_alias(*givers_[i])) {
      home_[i] = home_[givers_[i]->inputs[0]];
      places_[i] = places_[home_[i]];
    } else {
      places_[i] = place_of(i);
      if (givers_[i] != nullptr && replaces_addend(*givers_[i]))
        home_[i] = home_[givers_[i]->finish()->addend];
    }
  }
}

// Whether a product's results may lie where what is added to its sums lies: each is written after
// the number it replaces is read, by whoever reads that, and nobody reads it later. Kernels read 16
// numbers at a time.
bool ValuePlaces::replaces_addend(const ProgramStep& step) const {
  const FinishLaw* law = step.finish();
  if (!std::holds_alternative<ProductLaw>(step.law) || law->addend == kNoNode || law->addend == 0 ||
      step.largest() != nullptr) {
    return false;
  }
  const Place& from = places_[law->addend];
  const Place& to = places_[step.output];
  const bool lies_alike = from.storage == to.storage && from.storage != FilterStorage::s32 &&
                          from.stride == to.stride && from.channels % kFilterOutputs == 0;
  const std::size_t home = home_[law->addend];
  return lies_alike && home_[step.inputs[0]] != home &&
         std::ranges::all_of(readers_[law->addend], [&](const Reader& reader) {
           return reader.step <= &step && !is_alias(*reader.step);
         });
}

Place ValuePlaces::place_of(std::size_t value) const {
  const ProgramValue& what = program_.values[value];
  const ProgramStep* giver = givers_[value];
  Place place;
  place.height = what.picture.height;
  place.width = what.picture.width;
  place.channels = what.picture.channels;
  // The largest of some is kept as all of them are.
  const LargestLaw* largest = giver == nullptr ? nullptr : giver->largest();
  const ValueInfo& kept = largest == nullptr ? what.info : program_.values[largest->pooled].info;
  set_storage(place, {kept.low, kept.high}, may_pack_[value]);
  if (giver != nullptr && giver->single<MaxPool>() != nullptr) {
    const Place& in = places_[giver->inputs[0]];
    place.storage = in.storage;
    place.zero = in.zero;
    place.stride = in.stride;
  }
  if (const ProgramStep* reader = thin_reader();
      value == 0 && reader != nullptr && place.storage == FilterStorage::u8) {
    place.border = conv_of(*reader)->padding.x;
    place.stride = place.channels;
  }
  check_place(place);
  return place;
}

// The one convolution that reads an input of few channels.
const ProgramStep* ValuePlaces::thin_reader() const {
  const Picture& picture = program_.values[0].picture;
  if (readers_[0].size() != 1 || options_.keeps_layers) return nullptr;
  const ProgramStep* reader = readers_[0][0].step;
  const Conv2d* conv = conv_of(*reader);
  const bool is_thin = conv != nullptr && conv->groups == 1 && conv->dilation.x == 1 &&
                       picture.channels % 4 != 0 && conv->kernel.x * picture.channels <= kThinBytes;
  return is_thin ? reader : nullptr;
}

void ValuePlaces::plan_memory() {
  std::vector<ArenaItem> items(places_.size());
  std::size_t now = 0;
  for (const ProgramStep& step : program_.steps) {
    if (is_alias(step)) continue;
    ++now;
    if (home_[step.output] == step.output) items[step.output].first = now;
    items[home_[step.output]].last = now;
    for (const std::size_t input : step.reads()) items[home_[input]].last = now;
  }
  items[home_.back()].last = now + 1;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!places_[i].is_stored() || home_[i] != i) continue;
    items[i].bytes = static_cast<std::size_t>(
        checked_sum(checked_product(places_[i].image_bytes(), options_.max_batch), kPlaceSlack));
  }
  arena_bytes_ = plan_arena(items, kAlignment);
  for (std::size_t i = 0; i < items.size(); ++i) places_[i].offset = items[home_[i]].offset;
}

}  // namespace nibble::inline engine
