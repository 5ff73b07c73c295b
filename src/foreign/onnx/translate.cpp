// SPDX-License-Identifier: Apache-2.0
// Translates an ONNX graph node by node; what has no form in Nibble is gathered into one message.
#include "foreign/onnx/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "foreign/onnx/converters.h"
#include "foreign/onnx/fold.h"
#include "foreign/onnx/graph_plan.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

constexpr std::int64_t kFirstOpset = 9;
constexpr std::int64_t kLastOpset = 21;
constexpr std::size_t kMostNamed = 200;  // nodes in one message

bool is_own_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::unordered_map<std::string, std::int64_t> opsets_of(const onnx::ModelProto& model) {
  std::unordered_map<std::string, std::int64_t> opsets;
  for (const auto& each : model.opset_import()) {
    opsets[is_own_domain(each.domain()) ? "" : each.domain()] = each.version();
  }
  const std::int64_t own = opsets.contains("") ? opsets[""] : 0;
  if (own < kFirstOpset || own > kLastOpset) {
    throw Error("read_onnx", "opset", own == 0 ? "none" : std::to_string(own),
                fmt::format("{} to {}", kFirstOpset, kLastOpset), ErrorKind::input);
  }
  return opsets;
}

Activation add_input(Translation& translation, const GraphInput& input) {
  const Extents& from = input.extents;
  const Shape shape = from.size() == 3 ? Shape{from[1], from[2], from[0]} : Shape{from[0]};
  const std::size_t node = translation.builder().add(
      "input", {.name = {}, .op = Input{.shape = shape, .mean = {}, .deviation = {}}});
  return translation.activation_of(node);
}

bool has_lost_input(Translation& translation, const NodeView& node) {
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (node.has_input(i) && std::holds_alternative<std::monostate>(translation.value(node, i))) {
      return true;
    }
  }
  return false;
}

bool has_only_constants(const NodeView& node, const std::vector<const Constant*>& constants) {
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (node.has_input(i) && constants[i] == nullptr) return false;
  }
  return true;
}

Value convert(Translation& translation, const NodeView& node, const std::string& domain) {
  const std::vector<const Constant*> constants = translation.constants(node);
  if (is_own_domain(domain) && has_only_constants(node, constants)) {
    if (const Folder fold = find_folder(node.op())) {
      return fold({node, constants, translation.beside(), translation.budget()});
    }
  }
  const Converter converter = find_converter(domain, node.op());
  if (converter == nullptr) throw Unsupported{};
  return converter(translation, node);
}

// What the message says of a node: its operation, name, the opset and why.
std::string complaint(const NodeView& node, const Unsupported& unsupported) {
  return fmt::format("{} (opset {}){}{}", node.title(), node.opset(),
                     unsupported.why.empty() ? "" : " ", unsupported.why);
}

[[noreturn]] void fail_unsupported(const std::vector<std::string>& complaints) {
  const std::size_t shown = std::min(complaints.size(), kMostNamed);
  throw Error("read_onnx",
              fmt::format("{} {} no form in Nibble: {}{}", complaints.size(),
                          complaints.size() == 1 ? "node has" : "nodes have",
                          fmt::join(complaints.begin(),
                                    complaints.begin() + static_cast<std::ptrdiff_t>(shown), "; "),
                          shown < complaints.size() ? "; …" : ""),
              ErrorKind::input);
}

}  // namespace

Model translate(const onnx::ModelProto& model, const TranslateOptions& options) {
  auto opsets = opsets_of(model);
  const GraphPlan plan = plan_graph(model.graph());
  Translation translation(model.graph(), options.folder, options.bytes);
  translation.batch = plan.input.batch;
  translation.readers = plan.readers;
  translation.set(plan.input.name, add_input(translation, plan.input));
  std::vector<std::string> complaints;
  for (const onnx::NodeProto* proto : plan.nodes) {
    const std::string domain = is_own_domain(proto->domain()) ? "" : proto->domain();
    const NodeView node(*proto, opsets[domain]);
    Value value;
    try {
      if (!has_lost_input(translation, node)) {
        value = convert(translation, node, domain);
      } else if (!find_converter(domain, node.op()) && !find_folder(node.op())) {
        throw Unsupported{};
      }
    } catch (const Unsupported& unsupported) {
      complaints.push_back(complaint(node, unsupported));
    }
    translation.set(node, std::move(value));
  }
  if (!complaints.empty()) fail_unsupported(complaints);

  const Value* answer = translation.find(plan.output);
  const auto* activation = answer != nullptr ? std::get_if<Activation>(answer) : nullptr;
  if (activation == nullptr || activation->node != translation.builder().last()) {
    throw Error("read_onnx", "output", "a value that does not end the network", "its last one",
                ErrorKind::input);
  }
  if (activation->clip && !rounded_answers(translation, *activation)) {
    throw Error("read_onnx", "output", "a Clip of its own range",
                "one to 0 … 6 or 0 … infinity, or of a quantized network to -a … a",
                ErrorKind::input);
  }
  if (activation->flattened_from) {
    throw Error("read_onnx", "output", "a flattened picture", "a picture, or the end of a product",
                ErrorKind::input);
  }
  if (options.notes != nullptr) {
    for (const onnx::NodeProto* node : plan.dropped) {
      if (node->op_type() == "Identity" || node->op_type() == "Cast") continue;
      options.notes->push_back(fmt::format("{} at the end left out: it changes no class",
                                           NodeView(*node, opsets[""]).title()));
    }
  }
  return translation.builder().finish(options.name);
}

}  // namespace nibble::inline foreign
