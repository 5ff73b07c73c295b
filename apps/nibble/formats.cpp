// SPDX-License-Identifier: Apache-2.0
// nibble formats: the named formats as a table, or everything about one format.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/json.h"
#include "apps/nibble/verb.h"
#include "nibble/numerics/format.h"

namespace nibble {
namespace {

constexpr int kMostTableBits = 8;
constexpr std::size_t kTableColumns = 16;

constexpr const char* kGrammar =
    R"(Any other is written as name(argument, …):
  eXmY eXmYfn eXmYbBfnuz      floats by name: 1 to 8 exponent bits, 0 to 23 mantissa bits
  float(e,m,bias=B,specials=S,unsigned)    S: ieee, finite, fn, fnuz, p3109
  p3109(K,P,unsigned,finite)  IEEE P3109: K bits, precision P
  fixed(wl,fl,symmetric,clamp=off)         n · 2^-fl, n an integer of wl bits
  intN uintN                  N = 2 to 16; (scale=0.1,zero=3) or (axis=0) with --scales
  bfp(wl,block=n,axis=a,rule=R)            shared exponent; R: floor, ceil, even, rceil
  posit(n,es)                 2 to 32 bits, es 0 to 3
  codebook([a, b, …],signed)  a table; codebook(new_format), codebook(act_format), codebook(nf4)
Options of any: subnormals=off (floats), scale=X|absmax|minmax|pow2|two-level, block=n, axis=a
)";

std::string family_title(std::string_view family) {
  if (family == "float") return "Floats";
  if (family == "grid") return "Integers and fixed point";
  if (family == "block") return "Blocks with a shared scale";
  if (family == "posit") return "Posits";
  if (family == "codebook") return "Codebooks";
  return std::string(family);
}

std::vector<std::string> specials_of(const ElementInfo& info) {
  std::vector<std::string> words;
  if (info.has_infinity) words.emplace_back("inf");
  if (info.has_nan) words.emplace_back("nan");
  if (info.has_negative_zero) words.emplace_back("-0");
  if (!info.has_zero) words.emplace_back("no zero");
  return words;
}

std::string specials_text(const ElementInfo& info) {
  const std::vector<std::string> words = specials_of(info);
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string group_text(const Scaling& s) {
  switch (s.granularity) {
    case Granularity::tensor:
      return "the tensor";
    case Granularity::axis:
      return fmt::format("each index along axis {}", s.axis);
    case Granularity::block:
      return fmt::format("each {} along axis {}", s.block, s.axis);
  }
  return "?";
}

std::string_view rule_text(ScaleRule rule) {
  switch (rule) {
    case ScaleRule::floor:
      return "floor";
    case ScaleRule::ceil:
      return "ceil";
    case ScaleRule::even:
      return "even";
    case ScaleRule::rceil:
      return "rceil";
  }
  return "?";
}

std::string scaling_text(const Scaling& s) {
  const std::string group = group_text(s);
  switch (s.kind) {
    case ScaleKind::none:
      return "none";
    case ScaleKind::given:
      if (s.granularity == Granularity::axis) return "given scales for " + group;
      return fmt::format("value = (element - {}) · {}", s.zero, s.scale);
    case ScaleKind::power_of_two:
      return fmt::format("2^e for {}, e from the largest magnitude (rule {})", group,
                         rule_text(s.rule));
    case ScaleKind::absmax:
      return fmt::format("fp32 scale for {}: largest magnitude / largest element", group);
    case ScaleKind::minmax:
      return fmt::format("fp32 scale and zero point for {}, from its range", group);
    case ScaleKind::two_level:
      return fmt::format("e4m3 scale for {}, fp32 scale for the tensor", group);
  }
  return "?";
}

// The value of every code; nothing where a codebook has no entry.
std::vector<std::optional<double>> values_of(const Element& element) {
  const auto* table = std::get_if<CodebookElement>(&element);
  const std::size_t count = std::size_t{1} << describe(element).code_bits;
  std::vector<std::optional<double>> values(count);
  for (std::size_t code = 0; code < count; ++code) {
    if (table != nullptr && code >= table->values.size()) continue;
    values[code] = decode_code(element, static_cast<std::uint32_t>(code));
  }
  return values;
}

void print_codes(const Element& element) {
  std::vector<std::string> cells;
  for (const std::optional<double>& value : values_of(element)) {
    cells.push_back(value ? fmt::format("{:.4g}", *value) : ".");
  }
  std::size_t width = 0;
  for (const std::string& cell : cells) width = std::max(width, cell.size());
  const std::size_t columns = std::min(cells.size(), kTableColumns);
  fmt::print("\ncode");
  for (std::size_t column = 0; column < columns; ++column) fmt::print(" {:>{}x}", column, width);
  for (std::size_t code = 0; code < cells.size(); ++code) {
    if (code % kTableColumns == 0) fmt::print("\n  {:02x}", code);
    fmt::print(" {:>{}}", cells[code], width);
  }
  fmt::print("\nValues to 4 digits; --json has all of them.\n");
}

Json json_of(const std::string& name, const Format& format) {
  const ElementInfo info = describe(format.element);
  return {{"name", name},
          {"format", to_string(format)},
          {"bits", info.code_bits},
          {"max", json_number(info.max)},
          {"lowest", json_number(info.lowest)},
          {"min_positive", json_number(info.min_positive)},
          {"min_normal", json_number(info.min_normal)},
          {"precision_bits", info.precision_bits},
          {"specials", specials_of(info)},
          {"scaling", scaling_text(format.scaling)}};
}

void print_all(bool is_json) {
  Json list = Json::array();
  std::string_view family;
  for (const NamedFormat& named : named_formats()) {
    const Format format = parse_format(named.name);
    const ElementInfo info = describe(format.element);
    if (is_json) {
      list.push_back(json_of(std::string(named.name), format));
      list.back()["family"] = named.family;
      list.back()["summary"] = named.summary;
      continue;
    }
    if (named.family != family) {
      fmt::print("{}{}\n  {:<12} {:>4} {:>12} {:>12}  {:<12} {}\n", family.empty() ? "" : "\n",
                 family_title(named.family), "name", "bits", "max", "smallest", "specials", "what");
      family = named.family;
    }
    fmt::print("  {:<12} {:>4} {:>12.6g} {:>12.6g}  {:<12} {}\n", named.name, info.code_bits,
               info.max, info.min_positive, specials_text(info), named.summary);
  }
  if (is_json)
    fmt::print("{}\n", list.dump(2));
  else
    fmt::print("\n{}", kGrammar);
}

void print_one(const std::string& name, bool is_json) {
  const Format format = parse_format(name);
  const ElementInfo info = describe(format.element);
  const bool has_table = info.code_bits <= kMostTableBits;
  if (is_json) {
    Json json = json_of(name, format);
    if (has_table) {
      json["values"] = Json::array();
      for (const std::optional<double>& value : values_of(format.element)) {
        json["values"].push_back(value ? json_number(*value) : Json());
      }
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("format     {}\n", to_string(format));
  fmt::print("bits       {}\n", info.code_bits);
  fmt::print("range      {} to {}\n", info.lowest, info.max);
  fmt::print("smallest   {} above zero, {} with full precision\n", info.min_positive,
             info.min_normal);
  if (info.precision_bits > 0) fmt::print("precision  {} bits\n", info.precision_bits);
  fmt::print("specials   {}\n", specials_text(info));
  fmt::print("scaling    {}\n", scaling_text(format.scaling));
  if (has_table) print_codes(format.element);
}

}  // namespace

void add_formats(CLI::App& app) {
  struct Flags {
    std::string format;
    bool is_json = false;
  };
  CLI::App& verb = *app.add_subcommand("formats", "list the number formats, or describe one");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("FORMAT", flags->format, "the format to describe")->type_name("");
  verb.add_flag("--json", flags->is_json, "print JSON");
  verb.footer(
      "Examples:\n"
      "  nibble formats                 all names and how to write others\n"
      "  nibble formats 'posit(8,2)'    range, precision and the value of every code");
  verb.callback([flags] {
    if (flags->format.empty())
      print_all(flags->is_json);
    else
      print_one(flags->format, flags->is_json);
  });
}

}  // namespace nibble
