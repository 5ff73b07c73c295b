// SPDX-License-Identifier: Apache-2.0
// Takes the place of all that computes with floats in a build without oneDNN: it refuses.
#include <string>
#include <string_view>

#include "float_training/product.h"
#include "nibble/core/error.h"
#include "nibble/float_training/fine_tune.h"
#include "nibble/float_training/forward.h"
#include "nibble/float_training/train.h"

namespace nibble::inline float_training {
namespace {

[[noreturn]] void refuse_floats(std::string_view op, std::string_view what) {
  throw Error(op, std::string(what) + ": this build has no oneDNN", ErrorKind::system);
}

}  // namespace

struct FloatForward::State {};

TrainResult train(const Recipe&, const TrainOptions&) {
  throw Error("train", "float training: this build has no oneDNN; --arith int8 needs none",
              ErrorKind::system);
}

Evaluation evaluate(const Model& model, const Dataset&, const EvaluateOptions&) {
  refuse_floats("eval", "float network " + model.network.name);
}

Model fine_tune(const Model& start, const Dataset&, const FineTuneOptions&) {
  refuse_floats("fine_tune", "float network " + start.network.name);
}

FloatForward::FloatForward(const Model& model) {
  refuse_floats("forward", "float network " + model.network.name);
}
FloatForward::~FloatForward() = default;
FloatForward::FloatForward(FloatForward&&) noexcept = default;
FloatForward& FloatForward::operator=(FloatForward&&) noexcept = default;

Tensor FloatForward::answers(ConstTensorView, const ValueWatcher&) {
  refuse_floats("forward", "float network");
}

Tensor answers_of(const Model& model, ConstTensorView, const ValueWatcher&) {
  refuse_floats("forward", "float network " + model.network.name);
}

void product(std::int64_t, std::int64_t, std::int64_t, const Matrix&, const Matrix&, float*, bool,
             bool) {
  refuse_floats("product", "float matrices");
}

}  // namespace nibble::inline float_training
