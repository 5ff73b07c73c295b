// SPDX-License-Identifier: Apache-2.0
// Takes the parameters of integer networks apart.
#include "graph/parameters.h"

#include "core/bit_packing.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

template <class Number, class Body>
bool visit_type(const Tensor& tensor, DType type, const Body& body) {
  if (tensor.dtype() != type) return false;
  body(tensor.as<Number>());
  return true;
}

// Calls body(span) for the numbers of an integer tensor.
template <class Body>
void visit_integers(const Parameter& parameter, const Tensor& tensor, const Body& body) {
  const bool is_known = visit_type<std::int8_t>(tensor, DType::i8, body) ||
                        visit_type<std::uint8_t>(tensor, DType::u8, body) ||
                        visit_type<std::int16_t>(tensor, DType::i16, body) ||
                        visit_type<std::uint16_t>(tensor, DType::u16, body) ||
                        visit_type<std::int32_t>(tensor, DType::i32, body) ||
                        visit_type<std::int64_t>(tensor, DType::i64, body);
  if (!is_known) {
    throw Error("integers", parameter.name, name_of(tensor.dtype()), "i8, u8, i16, u16, i32 or i64",
                ErrorKind::input);
  }
}

}  // namespace

const GridElement* narrow_weight(const Node& node) {
  const auto* grid = std::get_if<GridElement>(&node.weight.format.element);
  return grid != nullptr && grid->is_integer && grid->bits < 8 ? grid : nullptr;
}

bool is_packed(const Network& network, const Parameter& parameter, const Tensor& tensor) {
  if (parameter.kind != "weight" || tensor.dtype() != DType::u8) return false;
  const GridElement* grid = narrow_weight(network.nodes[parameter.node]);
  if (grid == nullptr) return false;
  const auto elements = static_cast<std::size_t>(parameter.shape.elements());
  return tensor.shape() == Shape{static_cast<std::int64_t>(packed_bytes(elements, grid->bits))};
}

bool fits(const Network& network, const Parameter& parameter, const Tensor& tensor) {
  return tensor.shape() == parameter.shape || is_packed(network, parameter, tensor);
}

std::vector<std::int64_t> integers_of(const Parameter& parameter, const Tensor& tensor) {
  std::vector<std::int64_t> result;
  visit_integers(parameter, tensor,
                 [&](auto numbers) { result.assign(numbers.begin(), numbers.end()); });
  return result;
}

std::vector<std::int8_t> weights_of(const Network& network, const Parameter& parameter,
                                    const Tensor& tensor) {
  std::vector<std::int8_t> result(static_cast<std::size_t>(parameter.shape.elements()));
  if (is_packed(network, parameter, tensor)) {
    const auto bytes = tensor.as<std::uint8_t>();
    const GridElement& grid = *narrow_weight(network.nodes[parameter.node]);
    const int sign = grid.is_signed ? 1 << (grid.bits - 1) : 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto code = static_cast<int>(packed_code(bytes, i, grid.bits));
      result[i] = static_cast<std::int8_t>((code ^ sign) - sign);
    }
    return result;
  }
  visit_integers(parameter, tensor, [&](auto numbers) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto number = static_cast<std::int64_t>(numbers[i]);
      if (number < INT8_MIN || number > INT8_MAX) {
        throw Error("integers", parameter.name, std::to_string(number), "-128 to 127",
                    ErrorKind::input);
      }
      result[i] = static_cast<std::int8_t>(number);
    }
  });
  return result;
}

std::vector<std::uint8_t> packed_weights(std::span<const std::int8_t> values, int bits) {
  std::vector<std::uint8_t> bytes(packed_bytes(values.size(), bits));
  for (std::size_t i = 0; i < values.size(); ++i) {
    pack_code(bytes, i, bits, static_cast<std::uint8_t>(values[i]));
  }
  return bytes;
}

}  // namespace nibble::inline graph
