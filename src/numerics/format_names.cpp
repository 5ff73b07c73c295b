// SPDX-License-Identifier: Apache-2.0
// The short names of known formats and what they stand for.
#include "numerics/format_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace nibble::inline numerics {
namespace {

Format plain(const Element& element) {
  return {element, {}};
}

Format floating(int exponent_bits, int mantissa_bits, Specials specials, int bias) {
  return plain(FloatElement{.exponent_bits = exponent_bits,
                            .mantissa_bits = mantissa_bits,
                            .bias = bias,
                            .specials = specials});
}

Format floating(int exponent_bits, int mantissa_bits, Specials specials = Specials::ieee) {
  return floating(exponent_bits, mantissa_bits, specials, (1 << (exponent_bits - 1)) - 1);
}

Format e8m0() {
  return plain(FloatElement{.exponent_bits = 8,
                            .mantissa_bits = 0,
                            .bias = 127,
                            .specials = Specials::fn,
                            .is_signed = false,
                            .has_zero = false});
}

Format integer(int bits, bool is_signed) {
  return plain(GridElement{.bits = bits, .is_signed = is_signed});
}

Format blocks(const Element& element, ScaleKind kind, int block) {
  return {element, {.kind = kind, .granularity = Granularity::block, .axis = -1, .block = block}};
}

Format mx(const Format& element) {
  return blocks(element.element, ScaleKind::power_of_two, 32);
}

Element mxint8_element() {
  return GridElement{.bits = 8, .fraction_bits = 6, .is_symmetric = true, .is_integer = false};
}

// The 16 quantiles of a normal distribution that QLoRA (Dettmers et al., 2023) lists.
CodebookElement nf4() {
  return {"nf4",
          {-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
           -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
           0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F, 0.33791524171829224F,
           0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1.0F}};
}

// The posit fork's tables list magnitudes; zero and both signs make the codebook.
CodebookElement with_signs(std::string_view name, const std::vector<float>& magnitudes) {
  CodebookElement table{std::string(name), {0.0F}};
  for (const float m : magnitudes) {
    table.values.push_back(m);
    table.values.push_back(-m);
  }
  std::sort(table.values.begin(), table.values.end());
  return table;
}

std::vector<float> powers_then(int first, int last, const std::vector<float>& multiples, int unit,
                               const std::vector<float>& rest) {
  std::vector<float> values;
  for (int e = first; e <= last; ++e) values.push_back(std::ldexp(1.0F, e));
  for (const float m : multiples) values.push_back(std::ldexp(m, unit));
  values.insert(values.end(), rest.begin(), rest.end());
  return values;
}

std::vector<float> new_format_magnitudes() {
  return powers_then(-16, -7,
                     {3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 48, 64, 96}, -8,
                     {0.5F, 1.0F});
}

std::vector<float> act_format_magnitudes() {
  return powers_then(-12, -3,
                     {3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 48, 64, 96}, -4,
                     {8.0F, 16.0F});
}

std::vector<NameEntry> build_entries() {
  const Specials finite = Specials::finite;
  const Specials fnuz = Specials::fnuz;
  std::vector<NameEntry> list;
  const auto add = [&](std::string_view name, std::string_view family, const Format& format,
                       std::string_view summary) {
    list.push_back({{name, family, summary}, format});
  };
  add("fp32", "float", floating(8, 23), "IEEE 754 binary32");
  add("fp16", "float", floating(5, 10), "IEEE 754 binary16");
  add("bf16", "float", floating(8, 7), "bfloat16: fp32 with 7 mantissa bits");
  add("tf32", "float", floating(8, 10), "TensorFloat-32: fp32 with 10 mantissa bits");
  add("e5m2", "float", floating(5, 2), "OCP FP8 with infinities");
  add("e4m3", "float", floating(4, 3, Specials::fn), "OCP FP8, one NaN, no infinity");
  add("e3m4", "float", floating(3, 4), "FP8 with infinities, IEEE style");
  add("e5m2fnuz", "float", floating(5, 2, fnuz, 16), "FP8 without -0 and infinities, bias 16");
  add("e4m3fnuz", "float", floating(4, 3, fnuz, 8), "FP8 without -0 and infinities, bias 8");
  add("e4m3b11fnuz", "float", floating(4, 3, fnuz, 11), "FP8 without -0 and infinities, bias 11");
  add("e3m2", "float", floating(3, 2, finite), "OCP FP6, finite only");
  add("e2m3", "float", floating(2, 3, finite), "OCP FP6, finite only");
  add("e2m1", "float", floating(2, 1, finite), "OCP FP4, finite only");
  add("e8m0", "float", e8m0(), "powers of two, unsigned: the scale of OCP MX");
  add("int8", "grid", integer(8, true), "integers -128 to 127; add scale= and zero=");
  add("uint8", "grid", integer(8, false), "integers 0 to 255; add scale= and zero=");
  add("int4", "grid", integer(4, true), "integers -8 to 7; intN and uintN for N = 2 to 16");
  add("uint4", "grid", integer(4, false), "integers 0 to 15");
  add("mxfp8-e5m2", "block", mx(floating(5, 2)), "OCP MX: e5m2 and 2^e for each 32");
  add("mxfp8-e4m3", "block", mx(floating(4, 3, Specials::fn)), "OCP MX: e4m3 and 2^e for each 32");
  add("mxfp6-e3m2", "block", mx(floating(3, 2, finite)), "OCP MX: e3m2 and 2^e for each 32");
  add("mxfp6-e2m3", "block", mx(floating(2, 3, finite)), "OCP MX: e2m3 and 2^e for each 32");
  add("mxfp4", "block", mx(floating(2, 1, finite)), "OCP MX: e2m1 and 2^e for each 32");
  add("mxint8", "block", blocks(mxint8_element(), ScaleKind::power_of_two, 32),
      "OCP MX: int8 and 2^e for each 32");
  add("nvfp4", "block", blocks(floating(2, 1, finite).element, ScaleKind::two_level, 16),
      "NVIDIA: e2m1, e4m3 scale for each 16, fp32 scale a tensor");
  add("nf4", "codebook", blocks(nf4(), ScaleKind::absmax, 64),
      "QLoRA: 16 normal quantiles, absmax for each 64");
  return list;
}

// Reads digits after a letter; moves past them.
std::optional<int> number_after(char letter, std::string_view& text) {
  if (text.empty() || text.front() != letter) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Format> by_pattern(std::string_view name) {
  const std::optional<int> e = number_after('e', name);
  const std::optional<int> m = number_after('m', name);
  if (!e || !m || *e < 1 || *e > 8 || *m < 0 || *m > 23) return std::nullopt;
  const std::optional<int> bias = number_after('b', name);
  Specials specials = Specials::ieee;
  if (name == "fn")
    specials = Specials::fn;
  else if (name == "fnuz")
    specials = Specials::fnuz;
  else if (!name.empty())
    return std::nullopt;
  const int usual = (1 << (*e - 1)) - (specials == Specials::fnuz ? 0 : 1);
  return floating(*e, *m, specials, bias.value_or(usual));
}

}  // namespace

std::span<const NameEntry> name_entries() {
  static const std::vector<NameEntry> kEntries = build_entries();
  return kEntries;
}

std::optional<Format> format_by_name(std::string_view name) {
  if (name == "mxfp8") name = "mxfp8-e4m3";
  if (name == "mxfp6") name = "mxfp6-e2m3";
  for (const NameEntry& entry : name_entries()) {
    if (entry.listing.name == name) return entry.format;
  }
  return by_pattern(name);
}

std::optional<CodebookElement> codebook_by_name(std::string_view name) {
  if (name == "nf4") return nf4();
  if (name == "new_format") return with_signs(name, new_format_magnitudes());
  if (name == "act_format") return with_signs(name, act_format_magnitudes());
  return std::nullopt;
}

}  // namespace nibble::inline numerics
