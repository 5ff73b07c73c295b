// SPDX-License-Identifier: Apache-2.0
// Turns gradients into weights: momentum, update, master, weight, each in its format.
#include "float_training/optimizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "float_training/initialize.h"
#include "float_training/weight_quantizer.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kUpdatedAtOnce = 8192;
constexpr std::size_t kSecondPlace = 8;  // streams of Adam's second moment
constexpr float kLeastStep = 1e-9F;

void copy(ConstTensorView from, TensorView to) {
  std::memcpy(to.data(), from.data(), from.bytes());
}

Tensor zeros_like(const Tensor& tensor) {
  Tensor zeros(DType::f32, tensor.shape());
  std::ranges::fill(zeros.as<float>(), 0.0F);
  return zeros;
}

// Multiplies, and says whether all are finite.
bool scale(std::span<float> values, float factor) {
  std::atomic<bool> is_finite = true;
  parallel_for(values.size(), kUpdatedAtOnce, [&](std::size_t begin, std::size_t end) {
    float sum = 0;  // x - x is 0 unless x is infinite or NaN
    for (std::size_t i = begin; i < end; ++i) {
      values[i] *= factor;
      sum += values[i] - values[i];
    }
    if (!(sum == 0)) is_finite = false;
  });
  return is_finite;
}

}  // namespace

Optimizer::Optimizer(const OptimizerSettings& settings, const Network& network,
                     const PrecisionPolicy& policy, Rounder& rounder,
                     std::span<LayerParameter* const> parameters)
    : settings_(settings), rounder_(rounder) {
  const std::vector<Parameter> names = parameters_of(network);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Parameter& name = names[i];
    const Node& node = network.nodes[name.node];
    const auto rule = [&](Role role) {
      return name.is_trained ? policy.find(role, node.name, name.kind) : nullptr;
    };
    const bool is_step = name.kind == "step";
    const bool is_trained = name.is_trained && (!is_step || settings.trains_steps);
    const bool has_own_rule = has_own_rounding(node, name.kind);
    const bool is_same_node = i > 0 && names[i - 1].node == name.node;
    Trained each{.parameter = parameters[i],
                 .name = name.name,
                 .node = name.node,
                 .place = is_same_node ? trained_.back().place + 1 : 0,
                 .is_trained = is_trained,
                 .is_step = is_step,
                 .step = has_own_rule && !is_step ? parameters[i + 1] : nullptr,
                 .master = {},
                 .first = {},
                 .second = {},
                 .weight = has_own_rule ? nullptr : rule(Role::weight),
                 .gradient = rule(Role::gradient),
                 .momentum = rule(Role::momentum),
                 .update = rule(Role::update),
                 .master_rule = rule(Role::master)};
    const Tensor& value = parameters[i]->value;
    if (each.weight != nullptr) each.master = zeros_like(value);
    const bool is_adam = settings.kind != OptimizerKind::sgd;
    if (is_trained && (is_adam || settings.momentum != 0)) each.first = zeros_like(value);
    if (is_trained && is_adam) each.second = zeros_like(value);
    if (is_trained) largest = std::max(largest, value.elements());
    trained_.push_back(std::move(each));
  }
  scratch_ = Tensor(DType::f32, {largest});
}

TensorView Optimizer::master_of(Trained& each) const {
  return each.weight != nullptr ? each.master.view() : each.parameter->value.view();
}

void Optimizer::round(const RoundingRule* rule, Role role, const Trained& each,
                      std::uint32_t number, TensorView values) {
  if (each.is_step) return;  // no rule speaks of steps
  rounder_.round(rule, {role, each.node, each.place}, number, values);
}

void Optimizer::set_masters(std::span<const Tensor> values) {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    Trained& each = trained_[i];
    copy(values[i].view(), master_of(each));
    if (each.is_trained) round(each.master_rule, Role::master, each, 0, master_of(each));
  }
}

float Optimizer::weight_factor(std::size_t parameter) const {
  const Trained& each = trained_[parameter];
  const bool is_scaled = each.weight != nullptr && each.weight->has_wage_scale;
  return is_scaled ? 1.0F / wage_scale(each.parameter->value.shape()) : 1.0F;
}

void Optimizer::refresh_weights() {
  const auto number = static_cast<std::uint32_t>(updates_);
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    Trained& each = trained_[i];
    ++each.parameter->version;
    if (!each.is_trained) continue;
    if (each.weight != nullptr) copy(each.master.view(), each.parameter->value.view());
    if (each.step != nullptr) {
      rounder_.show_weight(each.node, each.parameter->value.view(), each.step->value.as<float>());
      continue;
    }
    round(each.weight, Role::weight, each, number, each.parameter->value.view());
    const float factor = weight_factor(i);
    if (factor == 1) continue;
    for (float& value : each.parameter->value.as<float>()) value *= factor;
  }
}

bool Optimizer::step(double rate, double loss_scale, bool skips_overflow) {
  if (loss_scale != 1 || skips_overflow) {
    bool is_finite = true;
    for (Trained& each : trained_) {
      if (!each.is_trained) continue;
      is_finite =
          scale(each.parameter->gradient.as<float>(), static_cast<float>(1.0 / loss_scale)) &&
          is_finite;
    }
    if (!is_finite && skips_overflow) return false;
  }
  ++updates_;
  for (Trained& each : trained_) {
    if (each.is_trained) update_parameter(each, rate, static_cast<std::uint32_t>(updates_));
  }
  refresh_weights();
  return true;
}

// With nothing to round in between, all is done while a piece is in the cache.
void Optimizer::update_parameter(Trained& each, double rate, std::uint32_t number) {
  round(each.gradient, Role::gradient, each, number, each.parameter->gradient.view());
  const auto count = static_cast<std::size_t>(each.parameter->value.elements());
  if (each.momentum == nullptr && each.update == nullptr && !rounder_.has_observer()) {
    parallel_for(count, kUpdatedAtOnce, [&](std::size_t begin, std::size_t end) {
      std::array<float, kUpdatedAtOnce> update;
      remember(each, begin, end);
      make_update(each, rate, begin, end, update.data());
      apply(each, rate, begin, end, update.data());
    });
    return round(each.master_rule, Role::master, each, number, master_of(each));
  }

  parallel_for(count, kUpdatedAtOnce,
               [&](std::size_t begin, std::size_t end) { remember(each, begin, end); });
  if (each.first.data() != nullptr) {
    round(each.momentum, Role::momentum, each, number, each.first.view());
  }
  if (each.second.data() != nullptr) {
    rounder_.round(each.momentum, {Role::momentum, each.node, each.place + kSecondPlace}, number,
                   each.second.view());
  }
  float* update = scratch_.as<float>().data();
  parallel_for(count, kUpdatedAtOnce, [&](std::size_t begin, std::size_t end) {
    make_update(each, rate, begin, end, update + begin);
  });
  round(each.update, Role::update, each, number,
        {scratch_.data(), DType::f32, each.parameter->value.shape()});
  parallel_for(count, kUpdatedAtOnce, [&](std::size_t begin, std::size_t end) {
    apply(each, rate, begin, end, update + begin);
  });
  round(each.master_rule, Role::master, each, number, master_of(each));
}

void Optimizer::remember(Trained& each, std::size_t begin, std::size_t end) const {
  float* gradient = each.parameter->gradient.as<float>().data();
  const float* master = master_of(each).as<float>().data();
  const auto decay = each.is_step ? 0.0F : static_cast<float>(settings_.weight_decay);
  if (decay != 0 && settings_.kind != OptimizerKind::adamw) {
    for (std::size_t i = begin; i < end; ++i) gradient[i] += decay * master[i];
  }
  if (each.first.data() == nullptr) return;
  float* first = each.first.as<float>().data();
  if (settings_.kind == OptimizerKind::sgd) {
    const auto momentum = static_cast<float>(settings_.momentum);
    for (std::size_t i = begin; i < end; ++i) first[i] = momentum * first[i] + gradient[i];
    return;
  }
  float* second = each.second.as<float>().data();
  const auto beta1 = static_cast<float>(settings_.beta1);
  const auto beta2 = static_cast<float>(settings_.beta2);
  for (std::size_t i = begin; i < end; ++i) {
    first[i] = beta1 * first[i] + (1.0F - beta1) * gradient[i];
    second[i] = beta2 * second[i] + (1.0F - beta2) * (gradient[i] * gradient[i]);
  }
}

void Optimizer::make_update(const Trained& each, double rate, std::size_t begin, std::size_t end,
                            float* update) const {
  const float* gradient = each.parameter->gradient.as<float>().data();
  if (settings_.kind == OptimizerKind::sgd) {
    const auto factor = static_cast<float>(rate);
    const float* first = each.first.data() != nullptr ? each.first.as<float>().data() : gradient;
    const auto momentum = static_cast<float>(settings_.momentum);
    for (std::size_t i = begin; i < end; ++i) {
      const float move = settings_.has_nesterov ? gradient[i] + momentum * first[i] : first[i];
      update[i - begin] = factor * move;
    }
    return;
  }
  // Adam: rate·m̂ / (√v̂ + ε), m̂ = m / (1 - β1^t), v̂ = v / (1 - β2^t).
  const auto t = static_cast<double>(updates_);
  const auto factor = static_cast<float>(rate / (1 - std::pow(settings_.beta1, t)));
  const auto root = static_cast<float>(1 / std::sqrt(1 - std::pow(settings_.beta2, t)));
  const auto epsilon = static_cast<float>(settings_.epsilon);
  const float* first = each.first.as<float>().data();
  const float* second = each.second.as<float>().data();
  for (std::size_t i = begin; i < end; ++i) {
    update[i - begin] = factor * first[i] / (std::sqrt(second[i]) * root + epsilon);
  }
}

void Optimizer::apply(Trained& each, double rate, std::size_t begin, std::size_t end,
                      const float* update) const {
  float* master = master_of(each).as<float>().data();
  if (settings_.kind == OptimizerKind::adamw && settings_.weight_decay != 0 && !each.is_step) {
    const auto keep = static_cast<float>(1 - rate * settings_.weight_decay);
    for (std::size_t i = begin; i < end; ++i) master[i] *= keep;
  }
  for (std::size_t i = begin; i < end; ++i) master[i] -= update[i - begin];
  if (!each.is_step) return;
  for (std::size_t i = begin; i < end; ++i) master[i] = std::max(master[i], kLeastStep);
}

std::vector<NamedTensorView> Optimizer::state() const {
  std::vector<NamedTensorView> tensors;
  for (const Trained& each : trained_) {
    const Tensor& master = each.weight != nullptr ? each.master : each.parameter->value;
    tensors.push_back({"master." + each.name, master.view()});
    if (each.first.data() != nullptr) tensors.push_back({"first." + each.name, each.first.view()});
    if (each.second.data() != nullptr)
      tensors.push_back({"second." + each.name, each.second.view()});
  }
  return tensors;
}

void Optimizer::set_state(const Checkpoint& checkpoint, std::int64_t updates) {
  const auto load = [&](const std::string& name, TensorView to) {
    copy(checkpoint.tensor(name, DType::f32, to.shape()).view(), to);
  };
  for (Trained& each : trained_) {
    load("master." + each.name, master_of(each));
    if (each.first.data() != nullptr) load("first." + each.name, each.first.view());
    if (each.second.data() != nullptr) load("second." + each.name, each.second.view());
  }
  updates_ = updates;
}

std::vector<ConstTensorView> Optimizer::masters() const {
  std::vector<ConstTensorView> views;
  for (const Trained& each : trained_) {
    const Tensor& master = each.weight != nullptr ? each.master : each.parameter->value;
    views.push_back(master.view());
  }
  return views;
}

}  // namespace nibble::inline float_training
