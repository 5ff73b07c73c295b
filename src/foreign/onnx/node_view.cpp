// SPDX-License-Identifier: Apache-2.0
// Attributes of ONNX nodes.
#include "foreign/onnx/node_view.h"

#include <fmt/format.h>

#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

using Attribute = onnx::AttributeProto;

constexpr std::string_view kWeightEnd = ".weight";

std::string type_name(int type) {
  return Attribute::AttributeType_IsValid(type)
             ? Attribute::AttributeType_Name(static_cast<Attribute::AttributeType>(type))
             : std::to_string(type);
}

}  // namespace

std::string NodeView::title() const {
  const bool is_foreign = !proto_.domain().empty() && proto_.domain() != "ai.onnx";
  const std::string kind = is_foreign ? proto_.domain() + "." + op() : op();
  const std::string& name =
      proto_.name().empty() && proto_.output_size() > 0 ? output() : proto_.name();
  const std::string printable = in_quotes(kind);
  return fmt::format("{} {}", printable.substr(1, printable.size() - 2), in_quotes(name));
}

std::string NodeView::wished_name() const {
  if (inputs() > 1 && input(1).ends_with(kWeightEnd)) {
    return input(1).substr(0, input(1).size() - kWeightEnd.size());
  }
  return proto_.name().empty() ? op() : proto_.name();
}

const Attribute* NodeView::find(std::string_view name) const {
  for (const Attribute& each : proto_.attribute()) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

const Attribute* NodeView::find(std::string_view name, int type) const {
  const Attribute* found = find(name);
  if (found != nullptr && found->type() != type) {
    fail(fmt::format("attribute {}", name), type_name(found->type()), type_name(type));
  }
  return found;
}

std::int64_t NodeView::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* found = find(name, Attribute::INT);
  return found != nullptr ? found->i() : otherwise;
}

float NodeView::real(std::string_view name, float otherwise) const {
  const Attribute* found = find(name, Attribute::FLOAT);
  return found != nullptr ? found->f() : otherwise;
}

std::string NodeView::text(std::string_view name, std::string_view otherwise) const {
  const Attribute* found = find(name, Attribute::STRING);
  return found != nullptr ? found->s() : std::string(otherwise);
}

std::optional<std::vector<std::int64_t>> NodeView::integers(std::string_view name) const {
  const Attribute* found = find(name, Attribute::INTS);
  if (found == nullptr) return {};
  return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<float>> NodeView::reals(std::string_view name) const {
  const Attribute* found = find(name, Attribute::FLOATS);
  if (found == nullptr) return {};
  return std::vector<float>(found->floats().begin(), found->floats().end());
}

const onnx::TensorProto* NodeView::tensor(std::string_view name) const {
  const Attribute* found = find(name, Attribute::TENSOR);
  return found != nullptr ? &found->t() : nullptr;
}

void NodeView::fail(std::string_view what, std::string_view got, std::string_view expected) const {
  throw Error("read_onnx", fmt::format("{}: {}", title(), what), got, expected, ErrorKind::input);
}

}  // namespace nibble::inline foreign
