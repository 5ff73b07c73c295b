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
  const std::vector<std::size_t> asked = go_back(step, answer_, last_ahead_);
  // Devices have been asked for all of the way back, and move what they have learned. The host
  // learns meanwhile; what it moves travels while it learns the next.
  for (const std::size_t node : asked) {
    if (moves_ahead(node)) update(node);
  }
  for (const std::size_t node : asked) {
    if (!gradient_waits(step, node)) continue;
    make_waiting_gradient(step, node);
    update(node);
  }
  const std::vector<std::size_t> rest = go_back(step, std::min(answer_, last_ahead_ - 1), 1);
  for (const std::size_t node : asked) {
    if (!moves_ahead(node) && !gradient_waits(step, node)) update(node);
  }
  for (const std::size_t node : rest) update(node);
  if (backends_.size() > 1) {
    for (TrainedTensor* parameter : parameters_) parameter->arrive();
  }
  memory_->clear();
  for (IntegerBackend* backend : backends_) backend->end();
  leave_host_range();
}

std::vector<std::size_t> IntegerTape::go_back(const StepContext& step, std::size_t first,
                                              std::size_t last) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = first; i >= last; --i) {
    // An empty error: nothing that counts reads this value.
    if (!layers_[i] || !memory_->wants_error(i) || memory_->error(i).is_empty()) continue;
    backward_node(step, i);
    nodes.push_back(i);
  }
  return nodes;
}

void IntegerTape::backward_node(const StepContext& step, std::size_t node) {
  const Node& description = network_.nodes[node];
  IntegerLayer& layer = *layers_[node];
  IntegerBackend& backend = placement_.of(node, TrainPass::input_error);
  const LayerNeeds& needs = memory_->needs(node);  // of a frozen layer, as if it had no weights
  const bool is_in_place = memory_->is_in_place(node);
  const bool passes_on = passes_error_on(node);
  const Values error = passes_on ? error_on(node, backend) : Values{};
  const Values output = layer.keeps_output() ? value_on(node, backend) : Values{};
  const std::size_t count = description.inputs.size();
  // The error comes last: what follows it may be done on its way.
  const bool waits = gradient_waits(step, node);
  const bool makes_both = layer.makes_whole_gradients() || is_overlapped(step, node);
  GradientOperands operands;
  operands.inputs.resize(count);
  if (!waits) operands = gradient_operands(node);
  if (needs.has_parameters && !makes_both && !waits) make_gradient(step, node, operands);
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
      layer.backward(
          {step, operands.inputs, output, error, makes_both ? operands.error : none, input_errors});
    });
    if (is_overlapped(step, node)) {
      for (TrainedTensor* parameter : layer.parameters()) parameter->reduce();
    }
    if (makes_both && needs.has_parameters) leave_for_update(step, node);
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
  if (waits) return memory_->error(node).keep_for(placement_.of(node, TrainPass::weight_gradient));
  memory_->end_backward(node);
}

IntegerTape::GradientOperands IntegerTape::gradient_operands(std::size_t node) {
  const std::vector<std::size_t>& inputs = network_.nodes[node].inputs;
  IntegerBackend& learner = placement_.of(node, TrainPass::weight_gradient);
  GradientOperands operands;
  operands.inputs.resize(inputs.size());
  if (needs(node).has_parameters) operands.error = error_on(node, learner);
  for (std::size_t k = 0; k < inputs.size() && needs(node).keeps_inputs; ++k)
    operands.inputs[k] = value_on(inputs[k], learner);
  return operands;
}

void IntegerTape::make_gradient(const StepContext& step, std::size_t node,
                                const GradientOperands& operands) {
  IntegerBackend& learner = placement_.of(node, TrainPass::weight_gradient);
  learner.enter(network_.nodes[node].name, TrainPass::weight_gradient);
  const Values none;
  const std::vector<Values> nowhere(operands.inputs.size());
  watched({node, TrainPass::weight_gradient}, learner, [&] {
    layers_[node]->backward({step, operands.inputs, none, operands.error, operands.error, nowhere});
    for (TrainedTensor* parameter : layers_[node]->parameters()) parameter->reduce();
  });
  leave_for_update(step, node);
}

void IntegerTape::make_waiting_gradient(const StepContext& step, std::size_t node) {
  turn_to(placement_.of(node, TrainPass::weight_gradient));
  make_gradient(step, node, gradient_operands(node));
  memory_->end_backward(node);
}

// Ranks make the gradient where they would wait for the shift of the error.
bool IntegerTape::is_overlapped(const StepContext& step, std::size_t node) const {
  return step.cluster != nullptr && needs(node).has_parameters &&
         !layers_[node]->makes_whole_gradients() && passes_error_on(node) &&
         !memory_->is_in_place(node) &&
         &placement_.of(node, TrainPass::input_error) ==
             &placement_.of(node, TrainPass::weight_gradient);
}

// It would hold up what devices that run ahead are still to be asked for. Ranks have one order,
// that of their placement, for all in which they meet.
bool IntegerTape::gradient_waits(const StepContext& step, std::size_t node) const {
  return node >= last_ahead_ && needs(node).has_parameters &&
         !layers_[node]->makes_whole_gradients() &&
         !placement_.of(node, TrainPass::weight_gradient).runs_ahead() &&
         !is_overlapped(step, node);
}

bool IntegerTape::moves_ahead(std::size_t node) const {
  const IntegerBackend& backend = placement_.of(node, TrainPass::update);
  return backend.runs_ahead() && &backend == &placement_.of(node, TrainPass::weight_gradient);
}

void IntegerTape::find_last_ahead() {
  last_ahead_ = network_.nodes.size();
  for (std::size_t i = answer_; i > 0; --i) {
    if (!goes_back(i)) continue;
    const bool has_error = passes_error_on(i) || senders_[i].size() > 1;
    if ((has_error && placement_.of(i, TrainPass::input_error).runs_ahead()) ||
        (needs(i).has_parameters && placement_.of(i, TrainPass::weight_gradient).runs_ahead()))
      last_ahead_ = i;
  }
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
    if (!backend.runs_ahead()) parameter->arrive();  // nothing to wait for
  }
}

}  // namespace nibble::inline integer_step
