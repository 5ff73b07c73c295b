// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a format. docs/formats/README.md has the grammar.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"
#include "numerics/format_names.h"
#include "numerics/format_text.h"

namespace nibble::inline numerics {
namespace {

Format float_base(FormatText& text) {
  FloatElement f;
  f.exponent_bits = text.positional("exponent bits");
  f.mantissa_bits = text.positional("mantissa bits");
  f.bias = (1 << (std::clamp(f.exponent_bits, 1, 8) - 1)) - 1;
  f.is_signed = !text.flag("unsigned");
  f.has_zero = !text.flag("nozero");
  if (const auto* bias = text.take("bias")) f.bias = text.number<int>(*bias);
  if (const auto* specials = text.take("specials")) {
    const auto value = value_of(kSpecialsWords, specials->value);
    if (!value) text.fail("unknown specials", *specials, list_of(kSpecialsWords));
    f.specials = *value;
  }
  return {f, {}};
}

Format fixed_base(FormatText& text) {
  GridElement g{.is_integer = false};
  g.bits = text.positional("word length");
  g.fraction_bits = text.positional("fraction length");
  return {g, {}};
}

Format bfp_base(FormatText& text) {
  GridElement g{.is_symmetric = true, .is_integer = false};
  g.bits = text.positional("word length");
  g.fraction_bits = std::clamp(g.bits, 1, 32) - 2;
  return {g, {.kind = ScaleKind::power_of_two}};
}

Format posit_base(FormatText& text) {
  PositElement p;
  p.bits = text.positional("bits");
  p.exponent_bits = text.positional("exponent bits");
  return {p, {}};
}

// IEEE P3109: K bits of which P are precision; extended (with infinities) unless `finite`.
Format p3109_base(FormatText& text) {
  const int k = text.positional("bits K");
  const int p = text.positional("precision P");
  FloatElement f;
  f.is_signed = !text.flag("unsigned");
  const bool finite = text.flag("finite");
  const bool in_range = k >= 3 && k <= 16 && p >= 1 && p <= 16;
  f.mantissa_bits = in_range ? p - 1 : 0;
  f.exponent_bits = in_range ? k - p + (f.is_signed ? 0 : 1) : 0;
  if (f.exponent_bits < 1 || f.exponent_bits > 8) {
    text.fail("impossible P3109 format", text.name_column(), text.text(),
              "3 <= K <= 16, 1 <= P and 1 to 8 exponent bits");
  }
  f.bias = 1 << (f.exponent_bits - 1);
  f.specials = !finite ? Specials::p3109 : f.is_signed ? Specials::fnuz : Specials::fn;
  return {f, {}};
}

Format codebook_base(FormatText& text) {
  const auto* table = text.bare();
  if (table == nullptr)
    text.fail("missing argument", text.text().size(), "", "a table: nf4 or [a, b, …]");
  CodebookElement c;
  if (table->value.front() == '[' && table->value.back() == ']') {
    c.values = text.list_of(*table);
    if (text.flag("signed")) {
      const std::vector<float> magnitudes = c.values;
      for (const float m : magnitudes) c.values.push_back(-m);
      c.values.push_back(0.0F);
    }
    for (float& value : c.values) value += 0.0F;  // one zero
    std::sort(c.values.begin(), c.values.end());
    c.values.erase(std::unique(c.values.begin(), c.values.end()), c.values.end());
  } else if (const auto named = codebook_by_name(table->value)) {
    c = *named;
  } else {
    text.fail("unknown table", *table, "nf4, new_format, act_format or [a, b, …]");
  }
  return {c, {}};
}

std::optional<Format> integer_base(const FormatText& text) {
  const std::string_view name = text.name();
  const bool is_unsigned = name.starts_with("uint");
  if (!is_unsigned && !name.starts_with("int")) return std::nullopt;
  const std::string_view digits = name.substr(is_unsigned ? 4 : 3);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return Format{
      GridElement{.bits = text.number<int>(digits, text.name_column()), .is_signed = !is_unsigned},
      {}};
}

Format base_of(FormatText& text) {
  const std::string_view name = text.name();
  if (name == "float") return float_base(text);
  if (name == "fixed") return fixed_base(text);
  if (name == "bfp") return bfp_base(text);
  if (name == "posit") return posit_base(text);
  if (name == "p3109") return p3109_base(text);
  if (name == "codebook") return codebook_base(text);
  if (const auto named = format_by_name(name)) return *named;
  if (const auto integer = integer_base(text)) return *integer;
  text.fail(
      "unknown format", text.name_column(), name,
      "a name of `nibble formats` or float(e,m), fixed(wl,fl), intN, uintN, bfp(wl), posit(n,es), "
      "p3109(K,P), codebook([…])");
}

void apply_element_options(FormatText& text, Format& format) {
  if (auto* f = std::get_if<FloatElement>(&format.element)) {
    f->has_subnormals = text.switch_of("subnormals", f->has_subnormals);
  }
  if (auto* g = std::get_if<GridElement>(&format.element)) {
    if (text.flag("symmetric")) g->is_symmetric = true;
    if (!g->is_integer) g->clamps = text.switch_of("clamp", g->clamps);
  }
}

float scale_number(FormatText& text, const FormatText::Argument& argument) {
  const auto scale = text.number<float>(argument);
  if (!std::isfinite(scale) || scale <= 0) {
    text.fail("impossible scale", argument, "a finite number above 0");
  }
  return scale;
}

void apply_scaling(FormatText& text, Format& format) {
  Scaling& s = format.scaling;
  if (const auto* scale = text.take("scale")) {
    if (s.kind != ScaleKind::none) text.fail("second scaling", *scale, "none: the name has one");
    if (const auto kind = value_of(kScaleKindWords, scale->value)) {
      s.kind = *kind;
    } else {
      s.kind = ScaleKind::given;
      s.scale = scale_number(text, *scale);
    }
  }
  if (const auto* scale = text.take("tensor_scale")) {
    if (s.kind != ScaleKind::two_level) {
      text.fail("tensor scale without a second level", *scale, "nvfp4 or scale=two-level");
    }
    s.tensor_scale = scale_number(text, *scale);
  }
  if (const auto* zero = text.take("zero")) {
    s.zero = text.number<int>(*zero);
    if (s.kind == ScaleKind::none) s.kind = ScaleKind::given;
    const auto* g = std::get_if<GridElement>(&format.element);
    if (s.kind != ScaleKind::given || g == nullptr || !g->is_integer || s.zero < g->lowest_n() ||
        s.zero > g->highest_n()) {
      text.fail("impossible zero point", *zero, "a code of an integer format with a given scale");
    }
  }
  if (const auto* block = text.take("block")) {
    s.block = text.number<int>(*block);
    if (s.block < 1 || s.kind == ScaleKind::none || s.kind == ScaleKind::given) {
      text.fail("impossible block", *block,
                "a length of at least 1 with scale=pow2, absmax, minmax or two-level");
    }
    s.granularity = Granularity::block;
  }
  if (const auto* axis = text.take("axis")) {
    s.axis = text.number<int>(*axis);
    if (s.kind == ScaleKind::none) s.kind = ScaleKind::given;
    if (s.granularity == Granularity::tensor) s.granularity = Granularity::axis;
    if (s.axis < -8 || s.axis > 7) text.fail("impossible axis", *axis, "-8 to 7");
  }
  if (const auto* rule = text.take("rule")) {
    if (s.kind != ScaleKind::power_of_two) {
      text.fail("rule without a shared exponent", *rule, "bfp, an MX format or scale=pow2");
    }
    const auto value = value_of(kScaleRuleWords, rule->value);
    if (!value) text.fail("unknown rule", *rule, list_of(kScaleRuleWords));
    s.rule = *value;
  }
}

// What only makes sense together, once both halves are known.
void check_halves(const Format& format, std::string_view text) {
  const Scaling& s = format.scaling;
  if (s.kind == ScaleKind::none) return;
  const auto refuse = [&](std::string_view what, std::string_view expected) {
    throw Error("format", what, "'" + std::string(text) + "'", expected);
  };
  const bool is_float = std::holds_alternative<FloatElement>(format.element);
  const auto* grid = std::get_if<GridElement>(&format.element);
  if (s.kind == ScaleKind::power_of_two && !is_float && grid == nullptr) {
    refuse("shared exponent", "a float or fixed-point element");
  }
  if (s.kind == ScaleKind::two_level && (!is_float || s.granularity != Granularity::block)) {
    refuse("two-level scale", "a float element and block=n");
  }
  if (s.kind == ScaleKind::minmax && (grid == nullptr || !grid->is_integer)) {
    refuse("minmax scale", "intN or uintN");
  }
  if (grid != nullptr && !grid->clamps && s.kind != ScaleKind::given) {
    refuse("scale from the data", "an element that clamps");
  }
  if (!describe(format.element).quantizes_fp32)
    refuse("scaled element", "values within fp32's range");
  if (!(describe(format.element).max > 0)) refuse("scaled element", "a largest value above 0");
}

}  // namespace

Format parse_format(std::string_view text) {
  FormatText parts(text);
  Format format = base_of(parts);
  apply_element_options(parts, format);
  apply_scaling(parts, format);
  parts.reject_leftovers();
  try {
    check(format.element);
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + ", at column " +
                    std::to_string(parts.name_column() + 1) + " of '" + std::string(text) + "'",
                error.kind());
  }
  check_halves(format, text);
  return format;
}

}  // namespace nibble::inline numerics
