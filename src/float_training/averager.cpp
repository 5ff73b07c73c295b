// SPDX-License-Identifier: Apache-2.0
// The running mean of masters, and moments measured anew.
#include "float_training/averager.h"

#include <algorithm>

#include "float_training/batcher.h"
#include "float_training/tape.h"

namespace nibble::inline float_training {
namespace {

std::string name_at(std::size_t i) {
  return "average." + std::to_string(i);
}

}  // namespace

void Averager::add(std::span<const ConstTensorView> masters) {
  ++count_;
  if (count_ == 1) {
    means_.clear();
    for (const ConstTensorView& master : masters) means_.push_back(copy_of(master));
    return;
  }
  const auto count = static_cast<float>(count_);
  for (std::size_t k = 0; k < masters.size(); ++k) {
    const auto mean = means_[k].as<float>();
    const auto master = masters[k].as<float>();
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += (master[i] - mean[i]) / count;
  }
}

std::vector<NamedTensorView> Averager::state() const {
  std::vector<NamedTensorView> tensors;
  for (std::size_t i = 0; i < means_.size(); ++i) tensors.push_back({name_at(i), means_[i].view()});
  return tensors;
}

void Averager::set_state(const Checkpoint& checkpoint, std::int64_t count,
                         std::span<const ConstTensorView> like) {
  count_ = count;
  means_.clear();
  if (count == 0) return;
  for (std::size_t i = 0; i < like.size(); ++i) {
    means_.push_back(copy_of(checkpoint.tensor(name_at(i), DType::f32, like[i].shape()).view()));
  }
}

void measure_moments(Model& model, const PrecisionPolicy& policy, const Dataset& data,
                     std::span<const std::int32_t> indices, std::int64_t batch) {
  const auto is_norm = [](const Node& node) { return is<BatchNorm>(node.op); };
  if (std::ranges::none_of(model.network.nodes, is_norm)) return;
  const std::vector<Parameter> parameters = parameters_of(model.network);
  Rounder rounder(model.network, 0);
  BufferPool pool;
  Tape tape(model.network, policy, rounder);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto values = tape.parameters()[i]->value.as<float>();
    std::ranges::copy(model.parameters[i].as<float>(), values.begin());
    if (!parameters[i].is_trained)
      std::ranges::fill(values, parameters[i].kind == "variance" ? 1.0F : 0.0F);
  }

  Batcher batcher(data, input_of(model.network));
  std::uint32_t step = 0;
  const auto size = static_cast<std::size_t>(batch);
  for (std::size_t begin = 0; begin < indices.size(); begin += size, ++step) {
    const auto part = indices.subspan(begin, std::min(size, indices.size() - begin));
    if (part.size() < 2) continue;
    batcher.load(part, {}, {});
    const Pass pass{.slices = cut_batch(static_cast<std::int64_t>(part.size()), batch, false),
                    .is_training = true,
                    .random = {0, 0, step},
                    .pool = &pool};
    tape.forward(pass, batcher.images());
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_trained) continue;
    std::ranges::copy(tape.parameters()[i]->value.as<float>(),
                      model.parameters[i].as<float>().begin());
  }
}

}  // namespace nibble::inline float_training
