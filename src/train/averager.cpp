// SPDX-License-Identifier: Apache-2.0
// The running mean of masters: stochastic weight averaging.
#include "train/averager.h"

namespace nibble {
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

}  // namespace nibble
