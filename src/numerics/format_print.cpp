// SPDX-License-Identifier: Apache-2.0
// Writes the canonical text form of a format: the shortest name that stands for it.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "nibble/numerics/format.h"
#include "numerics/format_names.h"

namespace nibble::inline numerics {
namespace {

// A name and its arguments; joined at the end.
struct Text {
  std::string name;
  std::vector<std::string> arguments;

  std::string joined() const {
    return arguments.empty() ? name : fmt::format("{}({})", name, fmt::join(arguments, ","));
  }
};

bool names(std::string_view name, const Element& element) {
  const auto format = format_by_name(name);
  return format && format->scaling == Scaling{} && format->element == element;
}

Text text_of(const FloatElement& f) {
  FloatElement whole = f;
  whole.has_subnormals = true;
  Text text;
  if (!f.has_subnormals) text.arguments.emplace_back("subnormals=off");
  for (const NameEntry& entry : name_entries()) {
    if (entry.format == Format{whole, {}}) {
      text.name = entry.listing.name;
      return text;
    }
  }
  for (const std::string_view suffix : {"", "fn", "fnuz"}) {
    const std::string split = fmt::format("e{}m{}", f.exponent_bits, f.mantissa_bits);
    for (const std::string& name :
         {split + std::string(suffix), fmt::format("{}b{}{}", split, f.bias, suffix)}) {
      if (names(name, whole)) {
        text.name = name;
        return text;
      }
    }
  }
  if (f.specials == Specials::p3109 && f.bias == 1 << (f.exponent_bits - 1)) {
    const int p = f.mantissa_bits + 1;
    const int k = f.exponent_bits + f.mantissa_bits + (f.is_signed ? 1 : 0);
    if (k >= 3 && k <= 16) {
      Text p3109{"p3109", {std::to_string(k), std::to_string(p)}};
      if (!f.is_signed) p3109.arguments.emplace_back("unsigned");
      p3109.arguments.insert(p3109.arguments.end(), text.arguments.begin(), text.arguments.end());
      if (f.has_zero) return p3109;
    }
  }
  Text full{"float", {std::to_string(f.exponent_bits), std::to_string(f.mantissa_bits)}};
  if (f.bias != (1 << (f.exponent_bits - 1)) - 1)
    full.arguments.push_back(fmt::format("bias={}", f.bias));
  if (f.specials != Specials::ieee)
    full.arguments.push_back(fmt::format("specials={}", to_string(f.specials)));
  if (!f.is_signed) full.arguments.emplace_back("unsigned");
  if (!f.has_zero) full.arguments.emplace_back("nozero");
  full.arguments.insert(full.arguments.end(), text.arguments.begin(), text.arguments.end());
  return full;
}

Text text_of(const GridElement& g) {
  Text text;
  if (g.is_integer) {
    text.name = fmt::format("{}int{}", g.is_signed ? "" : "u", g.bits);
  } else {
    text = {"fixed", {std::to_string(g.bits), std::to_string(g.fraction_bits)}};
  }
  if (g.is_symmetric) text.arguments.emplace_back("symmetric");
  if (!g.clamps) text.arguments.emplace_back("clamp=off");
  return text;
}

Text text_of(const PositElement& p) {
  return {"posit", {std::to_string(p.bits), std::to_string(p.exponent_bits)}};
}

Text text_of(const CodebookElement& c) {
  if (!c.name.empty()) return {"codebook", {c.name}};
  return {"codebook", {fmt::format("[{}]", fmt::join(c.values, ","))}};
}

bool is_block_float(const Element& element) {
  const auto* g = std::get_if<GridElement>(&element);
  return g != nullptr && !g->is_integer && g->is_signed && g->is_symmetric && g->clamps &&
         g->fraction_bits == g->bits - 2;
}

// The name whose element and kind of scaling match, so that only its details need saying.
const NameEntry* scaled_name(const Format& format) {
  for (const NameEntry& entry : name_entries()) {
    if (entry.format.scaling.kind == format.scaling.kind &&
        entry.format.element == format.element &&
        format.scaling.granularity == Granularity::block) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(Specials specials) {
  return word_of(kSpecialsWords, specials);
}

std::string_view to_string(ScaleRule rule) {
  return word_of(kScaleRuleWords, rule);
}

std::string to_string(const Format& format) {
  const Scaling& s = format.scaling;
  Text text = std::visit([](const auto& e) { return text_of(e); }, format.element);
  if (s.kind == ScaleKind::none) return text.joined();
  const auto add = [&](std::string argument) { text.arguments.push_back(std::move(argument)); };

  int implied_block = 0;
  const NameEntry* entry = scaled_name(format);
  if (entry != nullptr) {
    text = {std::string(entry->listing.name), {}};
    implied_block = entry->format.scaling.block;
  } else if (s.kind == ScaleKind::power_of_two && is_block_float(format.element)) {
    text = {"bfp", {std::to_string(std::get<GridElement>(format.element).bits)}};
  } else {
    if (s.kind != ScaleKind::given) add(fmt::format("scale={}", word_of(kScaleKindWords, s.kind)));
  }
  if (s.kind == ScaleKind::given) {
    if (s.scale != 1.0F || (s.zero == 0 && s.granularity == Granularity::tensor)) {
      add(fmt::format("scale={}", s.scale));
    }
    if (s.zero != 0) add(fmt::format("zero={}", s.zero));
  }
  if (s.tensor_scale != 0) add(fmt::format("tensor_scale={}", s.tensor_scale));
  if (s.granularity == Granularity::block && s.block != implied_block)
    add(fmt::format("block={}", s.block));
  if (s.granularity == Granularity::axis || s.axis != -1) add(fmt::format("axis={}", s.axis));
  if (s.rule != ScaleRule::floor) add(fmt::format("rule={}", to_string(s.rule)));
  return text.joined();
}

std::span<const NamedFormat> named_formats() {
  static const std::vector<NamedFormat> kList = [] {
    std::vector<NamedFormat> list;
    for (const NameEntry& entry : name_entries()) list.push_back(entry.listing);
    return list;
  }();
  return kList;
}

}  // namespace nibble::inline numerics
