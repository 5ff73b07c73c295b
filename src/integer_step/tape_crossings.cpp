// SPDX-License-Identifier: Apache-2.0
// What of a step crosses to another backend: it leaves when it is made and arrives when it is read.
#include <algorithm>
#include <utility>

#include "integer_step/tape.h"

namespace nibble::inline integer_step {

void Resident::set(IntegerBackend& backend, const Values& values) {
  release();
  add(backend, values);
}

void Resident::add(IntegerBackend& backend, const Values& values) {
  copies_.push_back({&backend, values.memory, values.exponent});
}

void Resident::keep_for(const IntegerBackend& backend) {
  if (find(backend) == nullptr && !is_on_way(backend)) return;
  std::erase_if(copies_, [&](const Copy& copy) { return copy.backend != &backend; });
}

bool Resident::is_on_way(const IntegerBackend& to) const {
  return std::ranges::any_of(flights_, [&](const Flight& each) { return each.crossing.to == &to; });
}

std::optional<Flight> Resident::take_flight(const IntegerBackend& to) {
  const auto found =
      std::ranges::find_if(flights_, [&](const Flight& each) { return each.crossing.to == &to; });
  if (found == flights_.end()) return std::nullopt;
  Flight flight = std::move(*found);
  flights_.erase(found);
  return flight;
}

const Resident::Copy* Resident::find(const IntegerBackend& backend) const {
  const auto found = std::ranges::find(copies_, &backend, &Copy::backend);
  return found == copies_.end() ? nullptr : &*found;
}

void IntegerTape::find_senders() {
  for (std::size_t j = answer_; j > 0; --j) {
    if (!goes_back(j) || !passes_error_on(j)) continue;
    for (const std::size_t input : network_.nodes[j].inputs) {
      if (wants_error(input)) senders_[input].push_back({j, TrainPass::input_error});
    }
  }
}

std::vector<StepUnit> IntegerTape::value_readers(std::size_t node) const {
  std::vector<StepUnit> readers;
  for (std::size_t j = 1; j <= answer_; ++j) {
    const auto& inputs = network_.nodes[j].inputs;
    if (!layers_[j] || std::ranges::find(inputs, node) == inputs.end()) continue;
    readers.push_back({j, TrainPass::forward});
    if (needs(j).keeps_inputs && goes_back(j)) {
      const bool makes_both = layers_[j]->makes_whole_gradients();
      readers.push_back({j, makes_both ? TrainPass::input_error : TrainPass::weight_gradient});
    }
  }
  if (layers_[node] && layers_[node]->keeps_output() && goes_back(node))
    readers.push_back({node, TrainPass::input_error});
  return readers;
}

void IntegerTape::send_value(std::size_t node, bool is_training) {
  if (backends_.size() == 1) return;
  Resident& home = memory_->value(node);
  IntegerBackend& from = *home.first().backend;
  for (const StepUnit& reader : value_readers(node)) {
    IntegerBackend& to = placement_.of(reader.node, reader.pass);
    if (!is_training && reader.pass != TrainPass::forward) continue;
    if (&to == &from || home.is_on_way(to)) continue;
    home.add(placement_.wire().depart(network_.nodes[node].name + ".value", from,
                                      value_at(node, home.first().memory, from), to));
  }
}

// Before all errors of a value are there, what is there goes where they meet.
void IntegerTape::send_error(std::size_t node) {
  if (backends_.size() == 1 || !goes_back(node)) return;
  Resident& home = memory_->error(node);
  const Resident::Copy& made = home.first();
  std::vector<IntegerBackend*> readers;
  if (arrived_[node] < senders_[node].size()) {
    readers.push_back(joins_[node].backend);
  } else {
    if (passes_error_on(node)) readers.push_back(&placement_.of(node, TrainPass::input_error));
    if (needs(node).has_parameters)
      readers.push_back(&placement_.of(node, TrainPass::weight_gradient));
  }
  for (IntegerBackend* to : readers) {
    if (to == made.backend || home.is_on_way(*to)) continue;
    home.add(placement_.wire().depart(network_.nodes[node].name + ".error", *made.backend,
                                      {.picture = pictures_[node],
                                       .images = images_,
                                       .memory = made.memory,
                                       .exponent = made.exponent},
                                      *to));
  }
}

Values IntegerTape::value_on(std::size_t node, IntegerBackend& backend) {
  Resident& home = memory_->value(node);
  const auto at = [&](const Resident::Copy& copy) {
    return value_at(node, copy.memory, *copy.backend);
  };
  if (const Resident::Copy* there = home.find(backend)) return at(*there);
  std::optional<Flight> flight = home.take_flight(backend);
  if (!flight)
    flight = placement_.wire().depart(network_.nodes[node].name + ".value", *home.first().backend,
                                      at(home.first()), backend);
  const Values copy = fresh_value(node, backend);
  placement_.wire().arrive(*flight, backend, copy);
  home.add(backend, copy);
  return copy;
}

Values IntegerTape::error_on(std::size_t node, IntegerBackend& backend) {
  Resident& home = memory_->error(node);
  const auto at = [&](const Resident::Copy& copy) {
    return Values{.picture = pictures_[node],
                  .images = images_,
                  .memory = copy.memory,
                  .exponent = copy.exponent};
  };
  if (const Resident::Copy* there = home.find(backend)) return at(*there);
  std::optional<Flight> flight = home.take_flight(backend);
  if (!flight)
    flight = placement_.wire().depart(network_.nodes[node].name + ".error", *home.first().backend,
                                      at(home.first()), backend);
  const Values copy = fresh_error(node, backend);
  placement_.wire().arrive(*flight, backend, copy);
  home.add(backend, copy);
  return copy;
}

void IntegerTape::leave_for_update(const StepContext& step, std::size_t node) {
  for (TrainedTensor* parameter : layers_[node]->parameters())
    parameter->leave_for_update(step.all_images);
}

}  // namespace nibble::inline integer_step
