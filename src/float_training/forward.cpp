// SPDX-License-Identifier: Apache-2.0
// One pass forward.
#include "nibble/float_training/forward.h"

#include <algorithm>

#include "float_training/tape.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

void check_batch(const Network& network, ConstTensorView batch) {
  check_dtype(batch.dtype(), DType::f32);
  const Shape& shape = batch.shape();
  const auto example = shape.extents().subspan(std::min<std::size_t>(shape.rank(), 1));
  if (shape.rank() == 0 || !std::ranges::equal(example, input_of(network).shape.extents())) {
    throw Error("forward", "batch", shape.to_string(),
                "examples of " + input_of(network).shape.to_string());
  }
}

}  // namespace

struct FloatForward::State {
  explicit State(const Model& model)
      : network(model.network),
        policy{.name = network.name, .rules = own_rules(network), .loss_scale = {}},
        rounder(network, 0),
        tape(network, policy, rounder) {
    tape.set_parameters(model.parameters);
  }

  Network network;
  PrecisionPolicy policy;
  Rounder rounder;
  BufferPool pool;
  Tape tape;
};

FloatForward::FloatForward(const Model& model) : state_(std::make_unique<State>(model)) {}
FloatForward::~FloatForward() = default;
FloatForward::FloatForward(FloatForward&&) noexcept = default;
FloatForward& FloatForward::operator=(FloatForward&&) noexcept = default;

Tensor FloatForward::answers(ConstTensorView batch, const ValueWatcher& watcher) {
  check_batch(state_->network, batch);
  const std::int64_t images = batch.shape()[0];
  const Pass pass{.slices = cut_batch(images, images, false),
                  .is_training = false,
                  .random = {},
                  .pool = &state_->pool};
  state_->tape.set_watcher(watcher);
  return copy_of(state_->tape.forward(pass, batch));
}

Tensor answers_of(const Model& model, ConstTensorView batch, const ValueWatcher& watcher) {
  return FloatForward(model).answers(batch, watcher);
}

}  // namespace nibble::inline float_training
