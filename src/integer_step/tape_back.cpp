// SPDX-License-Identifier: Apache-2.0
// Integer errors back; then every layer moves its weights.
#include <algorithm>
#include <vector>

#include "core/host_ranges.h"
#include "integer_step/tape.h"

namespace nibble::inline integer_step {

Values IntegerTape::start_backward() {
  std::ranges::fill(arrivals_, std::size_t{0});
  std::ranges::fill(arrived_, std::size_t{0});
  IntegerBackend& backend = answer_backend();
  const Values error = fresh_error(answer_, backend);
  memory_->error(answer_).set(backend, error);
  backend.enter("loss", TrainPass::input_error);
  return error;
}

void IntegerTape::run_backward(const StepContext& step) {
  send_error(answer_);
  std::vector<std::size_t> learned;
  for (std::size_t i = answer_; i > 0; --i) {
    // An empty error: nothing that counts reads this value.
    if (!layers_[i] || !memory_->wants_error(i) || memory_->error(i).is_empty()) continue;
    backward_node(step, i);
    learned.push_back(i);
  }
  for (const std::size_t node : learned) update(node);
  if (backends_.size() > 1) {
    for (TrainedTensor* parameter : parameters_) parameter->arrive();
  }
  memory_->clear();
  for (IntegerBackend* backend : backends_) backend->end();
  leave_host_range();
}

void IntegerTape::backward_node(const StepContext& step, std::size_t node) {
  const Node& description = network_.nodes[node];
  IntegerLayer& layer = *layers_[node];
  IntegerBackend& backend = placement_.of(node, TrainPass::input_error);
  IntegerBackend& learner = placement_.of(node, TrainPass::weight_gradient);
  const LayerNeeds& needs = memory_->needs(node);  // of a frozen layer, as if it had no weights
  const bool is_in_place = memory_->is_in_place(node);
  const bool passes_on = passes_error_on(node);
  const Values error = passes_on ? error_on(node, backend) : Values{};
  const Values output = layer.keeps_output() ? value_on(node, backend) : Values{};
  const std::size_t count = description.inputs.size();
  std::vector<Values> inputs(count);
  Values gradient_error;
  const auto bring_for_gradient = [&] {
    if (needs.has_parameters) gradient_error = error_on(node, learner);
    for (std::size_t k = 0; k < count && needs.keeps_inputs; ++k)
      inputs[k] = value_on(description.inputs[k], learner);
  };
  const auto make_gradient = [&] {
    learner.enter(description.name, TrainPass::weight_gradient);
    const std::vector<Values> nowhere(count);
    watched({node, TrainPass::weight_gradient}, learner, [&] {
      layer.backward({step, inputs, output, gradient_error, gradient_error, nowhere});
      for (TrainedTensor* parameter : layer.parameters()) parameter->reduce();
    });
    leave_for_update(step, node);
  };
  // The error comes last: what follows it may be done on its way. But a device that the host does
  // not wait for makes it while the host makes the gradient.
  // Ranks make the gradient where they would wait for the shift of the error.
  const bool makes_both = layer.makes_whole_gradients();
  const bool is_error_first = error_comes_first(node);
  const bool is_overlapped = step.cluster != nullptr && needs.has_parameters && !makes_both &&
                             passes_on && !is_in_place && &backend == &learner;
  if (!is_error_first) bring_for_gradient();
  if (needs.has_parameters && !makes_both && !is_overlapped && !is_error_first) make_gradient();
  // Taken late: what waited for an earlier gradient has come back by now.
  std::vector<Values> input_errors(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t input = description.inputs[k];
    if (!memory_->wants_error(input)) continue;
    if (is_in_place && k == 0) {
      input_errors[k] = error;
      input_errors[k].picture = pictures_[input];
      input_errors[k].exponent = arrival_slot(input, backend);
    } else {
      input_errors[k] = fresh_error(input, backend);
    }
  }
  if (passes_on) {
    backend.enter(description.name, TrainPass::input_error);
    const Values none;
    watched({node, TrainPass::input_error}, backend, [&] {
      layer.backward({step, inputs, output, error,
                      makes_both || is_overlapped ? gradient_error : none, input_errors});
    });
    if (is_overlapped) {
      for (TrainedTensor* parameter : layer.parameters()) parameter->reduce();
    }
    if ((makes_both || is_overlapped) && needs.has_parameters) leave_for_update(step, node);
    if (observer_) show(layer.error_points(), backend, input_errors[0]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t input = description.inputs[k];
    if (input_errors[k].memory.is_empty()) continue;
    if (is_in_place && k == 0) {
      memory_->error(input).set(backend, input_errors[k]);
    } else {
      join_error(input, backend, input_errors[k]);
    }
    ++arrived_[input];
    send_error(input);
  }
  if (is_error_first) {
    bring_for_gradient();
    make_gradient();
  }
  memory_->end_backward(node);
}

bool IntegerTape::error_comes_first(std::size_t node) const {
  return needs(node).has_parameters && passes_error_on(node) &&
         placement_.of(node, TrainPass::input_error).runs_ahead() &&
         !placement_.of(node, TrainPass::weight_gradient).runs_ahead();
}

// A layer that makes gradients and errors at once always does.
bool IntegerTape::passes_error_on(std::size_t node) const {
  return layers_[node]->makes_whole_gradients() ||
         std::ranges::any_of(network_.nodes[node].inputs,
                             [&](std::size_t input) { return memory_->wants_error(input); });
}

// The first error of a value is its error; a second one is added, on the backend that will pass the
// sum on.
void IntegerTape::join_error(std::size_t node, IntegerBackend& backend, Values error) {
  Resident& target = memory_->error(node);
  if (target.is_empty()) return target.set(backend, error);
  IntegerBackend& meeting = *joins_[node].backend;
  if (&meeting != &backend) {
    Flight flight =
        placement_.wire().depart(network_.nodes[node].name + ".error", backend, error, meeting);
    error = fresh_error(node, meeting);
    placement_.wire().arrive(flight, meeting, error);
  }
  const Values operands[] = {error_on(node, meeting), error};
  const Values sum = fresh_error(node, meeting);
  meeting.enter(network_.nodes[node].name + ".errors", TrainPass::input_error);
  watched({node, TrainPass::input_error}, meeting,
          [&] { meeting.pointwise(AddValues{joins_[node].point}, operands, sum); });
  target.set(meeting, sum);
}

void IntegerTape::update(std::size_t node) {
  if (!memory_->needs(node).has_parameters) return;
  IntegerBackend& backend = placement_.of(node, TrainPass::update);
  for (TrainedTensor* parameter : layers_[node]->parameters()) {
    backend.enter(parameter->name(), TrainPass::update);
    watched({node, TrainPass::update}, backend, [&] { parameter->update(); });
    parameter->send();
  }
}

}  // namespace nibble::inline integer_step
