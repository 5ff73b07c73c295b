// SPDX-License-Identifier: Apache-2.0
// Maps PyTorch's arrays onto the parameters of a network.
#include "nibble/foreign/read_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/half.h"
#include "data/npz.h"
#include "foreign/onnx/strided_copy.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

constexpr std::string_view kParallel = "module.";
constexpr std::string_view kCounter = "num_batches_tracked";

using Arrays = std::map<std::string, const Tensor*, std::less<>>;

std::string_view torch_kind(const Parameter& parameter) {
  if (parameter.kind == "scale") return "weight";
  if (parameter.kind == "shift") return "bias";
  if (parameter.kind == "mean") return "running_mean";
  if (parameter.kind == "variance") return "running_var";
  return parameter.kind;
}

// PyTorch's residual networks call the two layers of a shortcut downsample.0 and downsample.1.
std::string shortcut_name(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {".shortcut.conv.", ".downsample.0."}, {".shortcut.", ".downsample.1."}};
  for (const auto& [ours, theirs] : kNames) {
    const std::size_t at = name.find(ours);
    if (at != std::string::npos) return name.replace(at, ours.size(), theirs);
  }
  return name;
}

// The picture (channels, rows, columns) that a linear layer reads flattened; empty: none.
std::optional<std::array<std::int64_t, 3>> flattened_picture(const Network& network,
                                                             const std::vector<Shape>& shapes,
                                                             std::size_t node) {
  for (std::size_t at = network.nodes[node].inputs.front(); at > 0;) {
    const std::size_t input = network.nodes[at].inputs.front();
    const Op& op = network.nodes[at].op;
    if (is<Flatten>(op)) {
      const Shape& shape = shapes[input];
      if (shape.rank() != 3) return {};
      return std::array{shape[2], shape[0], shape[1]};
    }
    if (!is<Relu>(op) && !is<Relu6>(op) && !is<Dropout>(op)) return {};
    at = input;
  }
  return {};
}

Tensor as_floats(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) return copy_of(tensor.view());
  Tensor floats(DType::f32, tensor.shape());
  const auto out = floats.as<float>();
  const auto* halves = reinterpret_cast<const std::uint16_t*>(tensor.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = tensor.dtype() == DType::f64   ? static_cast<float>(tensor.as<double>()[i])
             : tensor.dtype() == DType::f16 ? float_from_half(halves[i])
                                            : float_from_bfloat(halves[i]);
  }
  return floats;
}

// The shape of the parameter as PyTorch has it.
Shape torch_shape(const Parameter& parameter) {
  const Shape& shape = parameter.shape;
  return shape.rank() == 4 ? Shape{shape[0], shape[3], shape[1], shape[2]} : shape;
}

class Mapping {
 public:
  Mapping(const Network& network, std::span<const NamedTensor> arrays)
      : network_(network), shapes_(infer_shapes(network)), wanted_(parameters_of(network)) {
    for (const NamedTensor& each : arrays) {
      std::string_view name = each.name;
      if (name.starts_with(kParallel)) name.remove_prefix(kParallel.size());
      if (!name.ends_with(kCounter)) arrays_.emplace(name, &each.tensor);
    }
    for (const Parameter& each : wanted_) {
      const Tensor* found = take(torch_name(each));
      used_.push_back(found != nullptr ? found : take(shortcut_name(torch_name(each))));
    }
    match_last_linear();
  }

  // In the order of parameters_of; throws where something does not fit.
  std::vector<Tensor> tensors(const std::string& source) const {
    std::vector<std::string> problems;
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const Shape expected = torch_shape(wanted_[i]);
      if (used_[i] == nullptr) {
        problems.push_back(
            fmt::format("{} {} is missing", torch_name(wanted_[i]), expected.to_string()));
      } else if (used_[i]->shape() != expected || !is_float(used_[i]->dtype())) {
        problems.push_back(fmt::format("{} is {} {}, not floats {}", torch_name(wanted_[i]),
                                       name_of(used_[i]->dtype()), used_[i]->shape().to_string(),
                                       expected.to_string()));
      } else {
        all.push_back(arranged(i));
      }
    }
    for (const auto& [name, tensor] : arrays_) {
      problems.push_back(fmt::format("{} {} is left over", name, tensor->shape().to_string()));
    }
    if (problems.empty()) return all;
    throw Error("read_weights",
                fmt::format("{} for {}: {}", source, network_.name, fmt::join(problems, "; ")),
                ErrorKind::input);
  }

 private:
  std::string torch_name(const Parameter& parameter) const {
    return fmt::format("{}.{}", network_.nodes[parameter.node].name, torch_kind(parameter));
  }

  const Tensor* take(std::string_view name) {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return nullptr;
    const Tensor* tensor = found->second;
    arrays_.erase(found);
    return tensor;
  }

  void match_last_linear() {
    std::size_t open = wanted_.size();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (used_[i] != nullptr || wanted_[i].shape.rank() != 2) continue;
      if (open < wanted_.size()) return;
      open = i;
    }
    std::string stem;
    for (const auto& [name, tensor] : arrays_) {
      if (!name.ends_with(".weight") || tensor->shape().rank() != 2) continue;
      if (!stem.empty()) return;
      stem = name.substr(0, name.size() - std::string_view("weight").size());
    }
    if (open == wanted_.size() || stem.empty()) return;
    for (std::size_t i = open; i < wanted_.size() && wanted_[i].node == wanted_[open].node; ++i) {
      used_[i] = take(stem + std::string(wanted_[i].kind));
    }
  }

  Tensor arranged(std::size_t i) const {
    Tensor tensor = as_floats(*used_[i]);
    if (tensor.shape().rank() == 4) return channels_last(tensor.view());
    if (tensor.shape().rank() != 2) return tensor;
    const auto picture = flattened_picture(network_, shapes_, wanted_[i].node);
    return picture ? channels_last(tensor.view(), *picture) : std::move(tensor);
  }

  const Network& network_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> wanted_;
  Arrays arrays_;                    // that nobody has taken
  std::vector<const Tensor*> used_;  // by parameter; null: none
};

}  // namespace

void take_weights(Model& model, std::span<const NamedTensor> arrays, const std::string& source) {
  model.parameters = Mapping(model.network, arrays).tensors(source);
}

void read_weights(Model& model, const std::filesystem::path& path) {
  if (path.extension() == ".npz") {
    const Npz file(path);
    std::vector<NamedTensor> arrays;
    for (const std::string& name : file.names()) arrays.push_back({name, file.read(name)});
    take_weights(model, arrays, path.string());
  } else if (path.extension() == ".safetensors") {
    take_weights(model, read_safetensors(path).tensors, path.string());
  } else {
    throw Error("read_weights", "file", path.string(), "a .npz or a .safetensors");
  }
}

}  // namespace nibble::inline foreign
