// SPDX-License-Identifier: Apache-2.0
// nibble formats: the named formats as a table, or everything about some of them.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nibble/formats_parts.h"
#include "apps/nibble/rounding_flags.h"
#include "apps/nibble/verb.h"
#include "nibble/numerics/format.h"
#include "tasks/json.h"
#include "tasks/shared_options.h"

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
Options of any: subnormals=off (floats), scale=X|absmax|minmax|pow2|two-level, block=n, axis=a,
tensor_scale=X (nvfp4, two-level)
)";

std::string family_title(std::string_view family) {
  if (family == "float") return "Floats";
  if (family == "grid") return "Integers and fixed point";
  if (family == "block") return "Blocks with a shared scale";
  if (family == "posit") return "Posits";
  if (family == "codebook") return "Codebooks";
  return std::string(family);
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

Json json_with_values(const std::string& name) {
  const Format format = parse_format(name);
  Json json = json_of(name, format);
  if (describe(format.element).code_bits > kMostTableBits) return json;
  json["values"] = Json::array();
  for (const std::optional<double>& value : values_of(format.element)) {
    json["values"].push_back(value ? json_number(*value) : Json());
  }
  return json;
}

void print_one(const Format& format) {
  const ElementInfo info = describe(format.element);
  fmt::print("format     {}\n", to_string(format));
  fmt::print("bits       {}\n", info.code_bits);
  fmt::print("range      {} to {}\n", info.lowest, info.max);
  fmt::print("smallest   {} above zero", info.min_positive);
  if (info.min_normal != info.min_positive) fmt::print(", {} with full precision", info.min_normal);
  fmt::print("\n");
  if (info.precision_bits > 0) fmt::print("precision  {} bits\n", info.precision_bits);
  fmt::print("specials   {}\n", specials_text(info));
  fmt::print("scaling    {}\n", scaling_text(format.scaling));
  if (info.code_bits <= kMostTableBits) print_codes(format.element);
}

// One format is a JSON object, several are an array. All are read before anything is printed.
void print_some(const std::vector<std::string>& names, bool is_json) {
  if (is_json) {
    Json list = Json::array();
    for (const std::string& name : names) list.push_back(json_with_values(name));
    fmt::print("{}\n", (names.size() == 1 ? list.front() : list).dump(2));
    return;
  }
  std::vector<Format> formats;
  for (const std::string& name : names) formats.push_back(parse_format(name));
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) fmt::print("\n");
    print_one(formats[i]);
  }
}

}  // namespace

void add_formats(CLI::App& app) {
  struct FormatsFlags {
    FormatsOnOptions on;  // its formats and --json serve without --on too
    std::string plot;
  };
  CLI::App& verb = *app.add_subcommand(
      "formats", "list the number formats, describe, measure or draw some of them");
  const auto flags = std::make_shared<FormatsFlags>();
  verb.add_option("FORMAT", flags->on.formats, "the formats; a useful choice for --on and --plot")
      ->type_name("");
  CLI::Option* on = verb.add_option("--on", flags->on.source,
                                    "the error they make on an array, - for standard input, or\n"
                                    "on 2^20 made numbers: normal, uniform")
                        ->type_name("IN.npy");
  verb.add_option("--rounding", flags->on.rounding, "as for round (default nearest-even)")
      ->type_name("NAME")
      ->needs(on);
  add_seed(verb, flags->on.seed)->needs(on);
  CLI::Option* json = verb.add_flag("--json", flags->on.is_json, "print JSON");
  verb.add_option("--plot", flags->plot, "draw their values and precision, - for standard output")
      ->type_name("OUT.svg")
      ->check(ending_in({".svg"}))
      ->excludes(on)
      ->excludes(json);
  verb.footer(
      "Examples:\n"
      "  nibble formats                         all names and how to write others\n"
      "  nibble formats 'posit(8,2)'            range, precision and the value of every code\n"
      "  nibble formats --on normal             what each costs and loses\n"
      "  nibble formats e4m3 nf4 --on w.npy     the same of two, on an array\n"
      "  nibble formats e2m1 int4 --plot f.svg  a picture");
  verb.callback([flags] {
    if (!flags->plot.empty())
      plot_formats(flags->on.formats, flags->plot);
    else if (!flags->on.source.empty())
      print_formats_on(flags->on);
    else if (flags->on.formats.empty())
      print_all(flags->on.is_json);
    else
      print_some(flags->on.formats, flags->on.is_json);
  });
}

}  // namespace nibble
