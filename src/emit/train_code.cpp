// SPDX-License-Identifier: Apache-2.0
// Writes the passes of a training step as calls of kernels.
#include "emit/train_code.h"

#include <fmt/format.h>

#include "graph/model_parts.h"
#include "graph/node_error.h"
#include "laws/integer_laws.h"

namespace nibble::inline emit {
namespace {

constexpr std::size_t kColumns = 100;

std::string extent_text(const Picture& picture) {
  return fmt::format("{}x{}x{}", picture.height, picture.width, picture.channels);
}

// What a sum adds: see train_sum.c.
struct Operand {
  std::string data;
  bool is_bias;
  std::string exponent;
};

// A loss is no layer of the passes.
template <class Operation>
concept NotTrained = OneOf<Operation, Input, BatchNorm, Concat, FakeQuantize, SoftmaxCrossEntropy,
                           SquaredError, Rescale, SumPool, Table, SoftmaxTable, ArgMax>;

class PassWriter {
 public:
  PassWriter(const Network& network, const TrainPlan& plan) : network_(network), plan_(plan) {}

  std::string forward() {
    text_.clear();
    for (std::size_t i = 1; i <= plan_.answer; ++i) {
      title(i);
      write_forward(i);
    }
    line(fmt::format("return {};", value(plan_.answer)));
    return fmt::format(
        "// The answers.\n"
        "static const int8_t *train_forward(net_train_state *s, const int8_t *images, "
        "int32_t count,\n                                   uint8_t learns) {{\n"
        "  int8_t *const m = s->memory;\n"
        "  int16_t *const e = s->value_exponents;\n"
        "{}  e[0] = NET_TRAIN_INPUT_EXPONENT;\n"
        "{}}}\n",
        unused({"learns"}), text_);
  }

  std::string backward() {
    text_.clear();
    for (std::size_t i = plan_.answer; i > 0; --i) {
      if (!layer(i).error) continue;
      title(i);
      write_back(i);
    }
    return fmt::format(
        "// Errors from the answer down; weights move as errors pass.\n"
        "static void train_backward(net_train_state *s, const int8_t *images, int32_t count, "
        "int8_t mu,\n                           int8_t bias_mu) {{\n"
        "  int8_t *const m = s->memory;\n"
        "{}{}{}}}\n",
        plan_.sends_errors() ? "  int16_t *const e = s->error_exponents;\n" : "",
        unused({"images", "bias_mu"}), text_);
  }

  std::string answer_error() const {
    return fmt::format(
        "static int8_t *train_answer_error(net_train_state *s) {{\n  return s->memory + {};\n}}\n",
        plan_.buffers[*layer(plan_.answer).error].offset);
  }

 private:
  const Op& op(std::size_t node) const { return network_.nodes[node].op; }
  const TrainLayer& layer(std::size_t node) const { return plan_.layers[node]; }
  const std::vector<std::size_t>& inputs(std::size_t node) const {
    return network_.nodes[node].inputs;
  }

  std::string buffer(std::size_t index) const {
    return fmt::format("m + {}", plan_.buffers[index].offset);
  }
  std::string value(std::size_t node) const {
    return layer(node).value ? buffer(*layer(node).value) : "images";
  }
  std::string marks(std::size_t node) const {
    return layer(node).marks ? fmt::format("(uint8_t *)({})", buffer(*layer(node).marks)) : "NULL";
  }
  std::string elements(std::size_t node) const {
    return fmt::format("count * {}", plan_.pictures[node].elements());
  }
  static std::string exponent(std::size_t node) { return fmt::format("e[{}]", node); }
  static std::string shift(std::size_t point) { return fmt::format("&s->shifts[{}]", point); }
  static std::string static_data(std::size_t node) { return fmt::format("&layer_{}", node); }

  // Arguments that no statement uses; in a title a name is followed by a colon.
  std::string unused(std::initializer_list<std::string_view> names) const {
    std::string lines;
    for (const std::string_view name : names) {
      const bool is_used = text_.find(fmt::format("{},", name)) != std::string::npos ||
                           text_.find(fmt::format("{})", name)) != std::string::npos;
      if (!is_used) lines += fmt::format("  (void){};\n", name);
    }
    return lines;
  }

  void line(std::string_view words) { text_ += fmt::format("  {}\n", words); }
  void title(std::size_t node) {
    text_ += fmt::format("\n  // {}: {}, {} to {}\n", network_.nodes[node].name, name_of(op(node)),
                         extent_text(plan_.pictures[inputs(node)[0]]),
                         extent_text(plan_.pictures[node]));
  }

  // "  result = function(a, b);", in more lines where one is too short.
  void call(std::string_view result, std::string_view function,
            std::initializer_list<std::string> arguments) {
    std::string row = fmt::format("  {}{}{}(", result, result.empty() ? "" : " = ", function);
    const std::size_t indent = row.size();
    std::size_t left = arguments.size();
    for (const std::string& each : arguments) {
      const std::string word = fmt::format("{}{}", each, --left > 0 ? ", " : ");");
      if (row.size() + word.size() > kColumns) {
        text_ += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
        row = std::string(indent, ' ');
      }
      row += word;
    }
    text_ += row + "\n";
  }

  // A list of its own in braces: a node may have several sums on the way back.
  void write_sum(const std::vector<Operand>& operands, std::size_t node, const std::string& to) {
    line("{");
    line("  const train_operand operands[] = {");
    for (const Operand& each : operands)
      line(fmt::format("      {{{}, {}, {}}},", each.data, each.is_bias ? 1 : 0, each.exponent));
    line("  };");
    line(fmt::format("  e[{}] = train_sum(operands, {}, count * {}, {}, {});", node,
                     operands.size(), plan_.pictures[node].pixels(), plan_.pictures[node].channels,
                     to));
    line("}");
  }

  void write_forward(std::size_t node) {
    std::visit([&](const auto& kind) { forward_of(kind, node); }, op(node));
  }

  void forward_of(const OneOf<Conv2d, Linear> auto&, std::size_t node) {
    const std::size_t input = inputs(node)[0];
    call(exponent(node), "train_product_forward",
         {static_data(node), "s->weights", "count", value(input), exponent(input),
          shift(layer(node).value_point), value(node)});
  }
  void forward_of(const OneOf<AveragePool, GlobalAveragePool> auto&, std::size_t node) {
    const std::size_t input = inputs(node)[0];
    call(exponent(node), "train_average",
         {static_data(node), "count", "0", value(input), exponent(input),
          shift(layer(node).value_point), value(node)});
  }
  void forward_of(const Add&, std::size_t node) {
    std::vector<Operand> operands;
    for (const std::size_t each : inputs(node))
      operands.push_back({value(each), false, exponent(each)});
    write_sum(operands, node, value(node));
  }
  void forward_of(const Bias&, std::size_t node) {
    const std::size_t input = inputs(node)[0];
    const WeightPlace bias = place_of(network_, node, "bias");
    write_sum({{value(input), false, exponent(input)},
               {fmt::format("s->weights + {}", bias.offset), true, std::to_string(bias.exponent)}},
              node, value(node));
  }
  void forward_of(const OneOf<Relu, Relu6> auto&, std::size_t node) {
    keep_exponent(node);
    call("", "train_rectify",
         {elements(node), value(inputs(node)[0]), cuts(node), exponent(node), value(node),
          marks(node)});
  }
  void forward_of(const MaxPool&, std::size_t node) {
    keep_exponent(node);
    call("", "train_max_pool",
         {static_data(node), "count", value(inputs(node)[0]), value(node), marks(node)});
  }
  void forward_of(const OneOf<Slice, Pad> auto&, std::size_t node) {
    keep_exponent(node);
    write_box(node, is<Slice>(op(node)), value(inputs(node)[0]), value(node));
  }
  void forward_of(const Dropout&, std::size_t node) {
    const std::string from = value(inputs(node)[0]);
    const std::string to = value(node);
    keep_exponent(node);
    if (from != to) call("", "train_copy", {elements(node), from, to});
    write_drop(node, to, "if (learns) ");
  }
  void forward_of(const Flatten&, std::size_t node) { keep_exponent(node); }
  [[noreturn]] void forward_of(const NotTrained auto&, std::size_t node) { refuse(node); }

  void keep_exponent(std::size_t node) {
    line(fmt::format("{} = {};", exponent(node), exponent(inputs(node)[0])));
  }
  [[noreturn]] void refuse(std::size_t node) const {
    fail_node(network_.nodes[node], "operation", name_of(op(node)), "one with emitted training");
  }

  std::string cuts(std::size_t node) const { return is<Relu6>(op(node)) ? "1" : "0"; }

  void write_box(std::size_t node, bool to_small, const std::string& from, const std::string& to) {
    call("", "train_move_box", {static_data(node), "count", to_small ? "1" : "0", from, to});
  }

  // Of the value or the error of a dropout.
  void write_drop(std::size_t node, const std::string& data, std::string_view condition) {
    const int k = halvings_of(std::get<Dropout>(op(node)).share);
    if (k == 0) return;
    line(fmt::format("{}e[{}] = (int16_t)(e[{}] + {});", condition, node, node, k));
    call("", fmt::format("{}train_drop", condition),
         {"count", std::to_string(plan_.pictures[node].elements()), std::to_string(k),
          "NET_TRAIN_SEED", std::to_string(node), "s->steps", data});
  }

  void write_back(std::size_t node) {
    const std::string error = buffer(*layer(node).error);
    if (is_rectifier(op(node))) {
      call("", "train_rectify_back",
           {elements(node), layer(node).marks ? "NULL" : value(node), cuts(node),
            fmt::format("s->value_exponents[{}]", node), marks(node), error});
    }
    if (is<Dropout>(op(node))) write_drop(node, error, "");
    for (std::size_t k = 0; k < layer(node).routes.size(); ++k) {
      if (layer(node).routes[k].is_wanted) write_route(node, k, error);
    }
    if (is_product(op(node))) {
      call("", "train_weight_step",
           {static_data(node), "count", value(inputs(node)[0]), error, "s->weights", "mu"});
    }
    if (const WeightPlace bias = place_of(network_, node, "bias"); bias.is_there) {
      call("", "train_bias_step",
           {fmt::format("count * {}", plan_.pictures[node].pixels()),
            std::to_string(plan_.pictures[node].channels), error,
            fmt::format("s->weights + {}", bias.offset), "bias_mu"});
    }
  }

  // What a layer sends to one of its inputs.
  struct SentError {
    std::size_t node;
    std::size_t input;
    std::string error;   // of the layer, in memory
    std::string to;      // where the input's is written; where it lies already: the same
    std::string result;  // what takes its exponent
  };

  // The error of an input: written, and added to what is there.
  void write_route(std::size_t node, std::size_t which, const std::string& error) {
    const ErrorRoute& route = layer(node).routes[which];
    const std::size_t input = inputs(node)[which];
    const std::string joined = fmt::format("joined_{}_{}", node, which);
    const SentError sent{
        .node = node,
        .input = input,
        .error = error,
        .to = buffer(route.buffer),
        .result = route.joins ? fmt::format("const int16_t {}", joined) : exponent(input)};
    std::visit([&](const auto& kind) { back_of(kind, sent); }, op(node));
    if (!route.joins) return;
    const std::string there = buffer(*route.joins);
    write_sum({{there, false, exponent(input)}, {sent.to, false, joined}}, input, there);
  }

  void back_of(const OneOf<Conv2d, Linear> auto&, const SentError& sent) {
    call(sent.result, "train_product_back",
         {static_data(sent.node), "s->weights", "count", sent.error, exponent(sent.node),
          shift(layer(sent.node).error_point), sent.to});
  }
  void back_of(const OneOf<AveragePool, GlobalAveragePool> auto&, const SentError& sent) {
    call(sent.result, "train_average",
         {static_data(sent.node), "count", "1", sent.error, exponent(sent.node),
          shift(layer(sent.node).error_point), sent.to});
  }
  void back_of(const MaxPool&, const SentError& sent) {
    call(sent.result, "train_max_pool_back",
         {static_data(sent.node), "count", sent.error, exponent(sent.node), marks(sent.node),
          shift(layer(sent.node).error_point), sent.to});
  }
  void back_of(const OneOf<Slice, Pad> auto&, const SentError& sent) {
    line(fmt::format("{} = {};", sent.result, exponent(sent.node)));
    write_box(sent.node, is<Pad>(op(sent.node)), sent.error, sent.to);
  }
  void back_of(const OneOf<Bias, Relu, Relu6, Add, Flatten, Dropout> auto&, const SentError& sent) {
    line(fmt::format("{} = {};", sent.result, exponent(sent.node)));
    if (sent.to != sent.error) call("", "train_copy", {elements(sent.input), sent.error, sent.to});
  }
  [[noreturn]] void back_of(const NotTrained auto&, const SentError& sent) { refuse(sent.node); }

  const Network& network_;
  const TrainPlan& plan_;
  std::string text_;
};

}  // namespace

std::string training_passes(const Network& network, const TrainPlan& plan) {
  std::string text;
  for (std::size_t i = 1; i <= plan.answer; ++i) text += layer_description(network, plan, i);
  PassWriter writer(network, plan);
  return text + "\n" + writer.forward() + "\n" + writer.answer_error() + "\n" + writer.backward();
}

}  // namespace nibble::inline emit
