// SPDX-License-Identifier: Apache-2.0
// Writes the tables of the README.
#include "emit/emitted_parts.h"

#include <fmt/format.h>

namespace nibble::inline emit {
namespace {

std::string range_text(const Interval& range) {
  return fmt::format("{} … {}", range.low, range.high);
}

std::string stored_text(const Storage& storage) {
  const std::string name(c_name(storage.type));
  return storage.zero == 0 ? name : fmt::format("{}, value + {}", name, storage.zero);
}

std::int64_t bytes_of(const EmittedParts& parts, std::size_t node) {
  return parts.view.shapes[node].elements() * size_of(parts.plan.storage[node].type);
}

std::string row_text(const EmittedParts& parts, std::size_t node, const std::string& words,
                     const std::string& sums) {
  return fmt::format("| {} | {} | {} | {} |\n", words, range_text(parts.view.bounds[node].value),
                     stored_text(parts.plan.storage[node]), sums);
}

}  // namespace

std::string figures_table(const EmittedParts& parts) {
  const EmitFigures figures = parts.figures();
  return fmt::format(
      "| what | |\n| --- | --- |\n"
      "| RAM: the arena | {} bytes |\n"
      "| RAM of the caller: input and output | {} + {} bytes an example |\n"
      "| flash: parameters | {} bytes |\n"
      "| multiply-accumulates of an example | {} |\n",
      figures.arena_bytes, bytes_of(parts, 0), bytes_of(parts, parts.view.output()),
      figures.parameter_bytes, figures.macs);
}

std::string certificate_table(const EmittedParts& parts) {
  std::string text =
      "| step | its values | stored as | its sums, in any order |\n| --- | --- | --- | --- |\n";
  text += row_text(parts, 0, parts.view.node(0).name, "-");
  for (std::size_t s = 0; s < parts.lines.size(); ++s) {
    const Interval& sums = parts.lines[s].sums;
    const std::string words =
        sums == Interval{} ? "-"
                           : fmt::format("{}, {}", range_text(sums), c_name(type_of_sums(sums)));
    text += row_text(parts, parts.plan.steps[s].last, parts.lines[s].words, words);
  }
  return text;
}

std::string input_words(const EmittedParts& parts) {
  const NetworkView& view = parts.view;
  const Scaling& scaling = view.node(0).value.format.scaling;
  const std::int64_t zero = parts.plan.storage[0].zero;
  std::string text = fmt::format(
      "An example is {} numbers, {}, the channels of a pixel side by side. They are the integers "
      "{} of the network",
      view.shapes[0].elements(), view.shapes[0].to_string(), range_text(view.bounds[0].value));
  if (zero != 0) text += fmt::format(" plus {}", zero);
  if (scaling.kind == ScaleKind::given)
    text += fmt::format("; an integer stands for {} times itself", scaling.scale);
  text += '.';
  if (parts.bytes)
    text += "\n`net_from_bytes` of `net_bytes.c` makes them of the bytes of a picture.";
  return text;
}

}  // namespace nibble::inline emit
