// SPDX-License-Identifier: Apache-2.0
// Cuts the network where its integers end.
#include "nibble/inference/answer_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "graph/integer_form.h"
#include "nibble/core/error.h"

namespace nibble::inline inference {
namespace {

bool ends_divided(const Network& network) {
  const Node& last = network.nodes.back();
  const auto* rescale = std::get_if<Rescale>(&last.op);
  return rescale != nullptr && rescale->has_divisor && last.inputs[0] + 2 == network.nodes.size() &&
         last.inputs[0] > 0;
}

std::vector<float> floats_of(const Parameter& parameter, const Tensor& tensor) {
  if (tensor.dtype() != DType::f32)
    throw Error("engine", parameter.name, name_of(tensor.dtype()), "f32");
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

template <class Integer>
Integer integer_at(const std::byte* memory) {
  Integer value;
  std::memcpy(&value, memory, sizeof value);
  return value;
}

// `divisor` is one of a channel, the last dimension; empty: the scale instead.
template <class Integer>
void convert(std::span<const std::byte> integers, float scale, std::span<const float> divisor,
             std::span<float> reals) {
  const auto real = [&](std::size_t i) {
    return static_cast<float>(integer_at<Integer>(integers.data() + i * sizeof(Integer)));
  };
  if (divisor.empty()) {
    for (std::size_t i = 0; i < reals.size(); ++i) reals[i] = real(i) * scale;
    return;
  }
  for (std::size_t i = 0, channel = 0; i < reals.size(); ++i) {
    reals[i] = real(i) / divisor[channel];
    if (++channel == divisor.size()) channel = 0;
  }
}

// Of each answer the first channel with the largest number_of(integer, channel).
template <class Integer>
void find_largest(std::span<const std::byte> integers, std::span<std::int32_t> classes,
                  const auto& number_of) {
  using Number = decltype(number_of(Integer{}, std::size_t{}));
  using Limits = std::numeric_limits<Number>;
  const std::size_t width = integers.size() / sizeof(Integer) / classes.size();
  const std::byte* at = integers.data();
  for (std::int32_t& best : classes) {
    Number most = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    std::size_t found = 0;
    for (std::size_t i = 0; i < width; ++i, at += sizeof(Integer)) {
      const Number number = number_of(integer_at<Integer>(at), i);
      if (number > most) {
        most = number;
        found = i;
      }
    }
    best = static_cast<std::int32_t>(found);
  }
}

// Whether reals that are these integers times the scale are larger where the integers are, and
// equal only where they are. Up to 2^22 floats hold integers exactly, and each product is rounded
// by 2^-24 · 2^22 = 1/4 of the scale at most, while neighbours are a whole scale apart.
bool keeps_order(const ValueInfo& integers, float scale) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  constexpr float kLeastScale = 0x1p-100F;  // far from subnormals and infinity
  constexpr float kMostScale = 0x1p100F;
  return integers.low >= -kMost && integers.high <= kMost && scale >= kLeastScale &&
         scale <= kMostScale;
}

// body(a 0 of the type that answers lie in memory with)
void with_type(DType dtype, const auto& body) {
  if (dtype == DType::i32) return body(std::int32_t{0});
  if (dtype == DType::i8) return body(std::int8_t{0});
  body(std::uint8_t{0});
}

}  // namespace

AnswerEngine::Parts AnswerEngine::parts_of(Model model) {
  Parts parts;
  parts.model = integer_form(std::move(model));
  Network& network = parts.model.network;
  parts.network = network;
  if (ends_divided(network)) {
    const std::vector<Parameter> parameters = parameters_of(network);
    std::vector<Tensor>& tensors = parts.model.parameters;
    while (!tensors.empty() && parameters[tensors.size() - 1].node == network.nodes.size() - 1) {
      const Parameter& parameter = parameters[tensors.size() - 1];
      if (parameter.kind == "divisor") parts.divisor = floats_of(parameter, tensors.back());
      tensors.pop_back();
    }
    network.nodes.pop_back();
  }
  const Scaling& scaling = network.nodes.back().value.format.scaling;
  if (parts.divisor.empty() && scaling.kind == ScaleKind::given) parts.scale = scaling.scale;
  return parts;
}

AnswerEngine::AnswerEngine(Model model, const EngineOptions& options)
    : parts_(parts_of(std::move(model))), engine_(std::move(parts_.model), options) {
  if (is<ArgMax>(parts_.network.nodes.back().op)) {
    answers_ = Answers::classes;
  } else if (!has_divisor() && keeps_order(engine_.output(), parts_.scale)) {
    answers_ = Answers::in_order;
  }
}

void AnswerEngine::to_reals(std::span<const std::byte> integers, std::span<float> reals) const {
  with_type(engine_.output().dtype, [&]<class Integer>(Integer) {
    convert<Integer>(integers, parts_.scale, parts_.divisor, reals);
  });
}

void AnswerEngine::find_classes(std::span<const std::byte> integers,
                                std::span<std::int32_t> classes) const {
  with_type(engine_.output().dtype, [&]<class Integer>(Integer) {
    if (answers_ == Answers::classes) {
      for (std::size_t i = 0; i < classes.size(); ++i)
        classes[i] = integer_at<Integer>(&integers[i * sizeof(Integer)]);
    } else if (answers_ == Answers::in_order) {
      find_largest<Integer>(integers, classes,
                            [](Integer integer, std::size_t) { return std::int32_t{integer}; });
    } else if (has_divisor()) {
      find_largest<Integer>(integers, classes,
                            [divisor = parts_.divisor.data()](Integer integer, std::size_t i) {
                              return static_cast<float>(integer) / divisor[i];
                            });
    } else {
      find_largest<Integer>(integers, classes,
                            [scale = parts_.scale](Integer integer, std::size_t) {
                              return static_cast<float>(integer) * scale;
                            });
    }
  });
}

std::vector<std::int32_t> largest(std::span<const float> reals, std::size_t count) {
  std::vector<std::int32_t> order(reals.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const float left = reals[static_cast<std::size_t>(a)];
                      const float right = reals[static_cast<std::size_t>(b)];
                      return left != right ? left > right : a < b;
                    });
  order.resize(count);
  return order;
}

}  // namespace nibble::inline inference
