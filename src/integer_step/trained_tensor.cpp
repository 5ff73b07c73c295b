// SPDX-License-Identifier: Apache-2.0
// A weight in training.
#include "integer_step/trained_tensor.h"

#include <algorithm>
#include <utility>

namespace nibble::inline integer_step {

TrainedTensor::TrainedTensor(WeightsCase weights, const LayerPlace& place)
    : case_(std::move(weights)), place_(place) {
  add_copy(*place.update);
  add_copy(*place.forward);
  add_copy(*place.input_error);
  gradient_ = place.weight_gradient->sums(case_);
}

void TrainedTensor::add_copy(IntegerBackend& backend) {
  const bool is_there =
      std::ranges::any_of(copies_, [&](const Copy& copy) { return copy.backend == &backend; });
  if (!is_there) copies_.push_back({&backend, backend.weights(case_)});
}

void TrainedTensor::write(const WeightsState& state) {
  for (const Copy& copy : copies_) copy.weights->write(state);
}

void TrainedTensor::write_mantissas(std::span<const std::int8_t> mantissas, int exponent) {
  WeightsState state = read();
  std::ranges::copy(mantissas, state.mantissas.as<std::int8_t>().begin());
  state.exponent = exponent;
  write(state);
}

std::vector<std::int8_t> TrainedTensor::mantissas() const {
  std::vector<std::int8_t> mantissas(size());
  master().read_mantissas(mantissas);
  return mantissas;
}

const Weights& TrainedTensor::on(const IntegerBackend& backend) const {
  return *std::ranges::find(copies_, &backend, &Copy::backend)->weights;
}

std::int64_t TrainedTensor::wire_bytes() const {
  const std::size_t each = norm() == NormPart::none ? 1 : 1 + sizeof(std::int32_t);
  return static_cast<std::int64_t>(size() * each) + Wire::kExponentBytes;
}

std::int64_t TrainedTensor::gradient_bytes() const {
  return static_cast<std::int64_t>(size() * sizeof(std::int64_t)) + Wire::kExponentBytes;
}

void TrainedTensor::update() {
  if (place_.weight_gradient == place_.update) {
    place_.update->update(master(), *gradient_);
  } else {
    const std::unique_ptr<Sums> moved = place_.update->sums(case_);
    const auto copy = [&] {
      std::vector<std::int64_t> sums(size());
      const int exponent = gradient_->read(sums);
      moved->write(sums, exponent);
    };
    place_.wire->carry(
        {name() + ".gradient", place_.weight_gradient, place_.update, gradient_bytes()}, copy);
    place_.update->update(master(), *moved);
  }
}

// Who only computes with a weight needs no more than its mantissas; of a batch norm's numbers, the
// fine ones are what counts.
void TrainedTensor::send() {
  for (std::size_t i = 1; i < copies_.size(); ++i) {
    const Copy& copy = copies_[i];
    place_.wire->carry({name(), copies_.front().backend, copy.backend, wire_bytes()}, [&] {
      if (norm() != NormPart::none) {
        WeightsState state = master().read();
        state.momentum.clear();
        return copy.weights->write(state);
      }
      WeightsState state{.mantissas = Tensor(DType::i8, shape()), .exponent = exponent()};
      master().read_mantissas(state.mantissas.as<std::int8_t>());
      copy.weights->write(state);
    });
  }
}

}  // namespace nibble::inline integer_step
