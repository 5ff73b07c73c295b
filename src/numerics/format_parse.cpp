// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a format: name, or name(argument, …) with numbers, words and key=value.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"
#include "numerics/format_names.h"

namespace nibble {
namespace {

struct Argument {
  std::string_view key;  // empty for a bare value
  std::string_view value;
  std::size_t column = 0;
  bool used = false;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { split(); }

  Format parse();

 private:
  [[noreturn]] void fail(std::string_view what, std::size_t column, std::string_view got,
                         std::string_view expected) const {
    throw Error("format",
                std::string(what) + " at column " + std::to_string(column + 1) + " of '" +
                    std::string(text_) + "'",
                "'" + std::string(got) + "'", expected);
  }

  void split();
  void add_argument(std::size_t begin, std::size_t end);

  template <class T>
  T number(const Argument& argument) const;
  template <class T>
  T number(std::string_view digits, std::size_t column) const;

  Argument* bare();                                      // the next bare argument
  Argument* take(std::string_view key);                  // a key=value argument
  int positional(std::string_view what);                 // a required bare integer
  bool flag(std::string_view word);                      // a bare word
  bool switch_of(std::string_view key, bool otherwise);  // key=on|off

  Format base();
  Format float_base();
  Format fixed_base();
  Format bfp_base();
  Format posit_base();
  Format p3109_base();
  Format codebook_base();
  std::optional<Format> integer_base() const;
  std::vector<float> list_of(const Argument& argument) const;
  void apply_element_options(Format& format);
  void apply_scaling(Format& format);
  void reject_leftovers() const;

  std::string_view text_;
  std::string_view name_;
  std::size_t name_column_ = 0;
  std::vector<Argument> arguments_;
};

void Parser::split() {
  const std::size_t open = text_.find('(');
  name_ = trimmed(text_.substr(0, open));
  name_column_ = name_.empty() ? 0 : static_cast<std::size_t>(name_.data() - text_.data());
  if (open == std::string_view::npos) return;
  if (trimmed(text_).back() != ')') {
    fail("unfinished argument list", text_.size(), "", "a closing ')'");
  }
  const std::size_t close = text_.rfind(')');
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = begin; i < close; ++i) {
    if (text_[i] == '(' || text_[i] == ')')
      fail("stray parenthesis", i, text_.substr(i, 1), "none");
    if (text_[i] == '[') ++depth;
    if (text_[i] == ']') --depth;
    if (depth < 0 || depth > 1) fail("stray bracket", i, text_.substr(i, 1), "one list [a, b, …]");
    if (text_[i] == ',' && depth == 0) {
      add_argument(begin, i);
      begin = i + 1;
    }
  }
  if (depth != 0) fail("unfinished list", close, ")", "a closing ']'");
  add_argument(begin, close);
}

void Parser::add_argument(std::size_t begin, std::size_t end) {
  const std::string_view whole = text_.substr(begin, end - begin);
  const std::string_view argument = trimmed(whole);
  if (argument.empty()) fail("empty argument", begin, "", "a number, a word or key=value");
  const auto column = static_cast<std::size_t>(argument.data() - text_.data());
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) {
    arguments_.push_back({{}, argument, column});
  } else {
    const std::string_view key = trimmed(argument.substr(0, equals));
    if (key.empty()) fail("missing key", column, argument, "key=value");
    arguments_.push_back({key, trimmed(argument.substr(equals + 1)), column});
  }
}

template <class T>
T Parser::number(std::string_view digits, std::size_t column) const {
  T value{};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) {
    fail("wrong number", column, digits, std::is_integral_v<T> ? "an integer" : "a number");
  }
  return value;
}

template <class T>
T Parser::number(const Argument& argument) const {
  return number<T>(argument.value, argument.column);
}

Argument* Parser::bare() {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                  [](const Argument& a) { return a.key.empty() && !a.used; });
  if (found == arguments_.end()) return nullptr;
  found->used = true;
  return &*found;
}

Argument* Parser::take(std::string_view key) {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                  [&](const Argument& a) { return a.key == key && !a.used; });
  if (found == arguments_.end()) return nullptr;
  found->used = true;
  return &*found;
}

int Parser::positional(std::string_view what) {
  Argument* argument = bare();
  if (argument == nullptr) fail("missing argument", text_.size(), "", what);
  return number<int>(*argument);
}

bool Parser::flag(std::string_view word) {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& a) {
    return a.key.empty() && !a.used && a.value == word;
  });
  if (found == arguments_.end()) return false;
  found->used = true;
  return true;
}

bool Parser::switch_of(std::string_view key, bool otherwise) {
  const Argument* argument = take(key);
  if (argument == nullptr) return otherwise;
  if (argument->value != "on" && argument->value != "off") {
    fail("wrong switch", argument->column, argument->value, "on or off");
  }
  return argument->value == "on";
}

Format Parser::float_base() {
  FloatElement f;
  f.exponent_bits = positional("exponent bits");
  f.mantissa_bits = positional("mantissa bits");
  f.bias = (1 << (std::clamp(f.exponent_bits, 1, 8) - 1)) - 1;
  f.is_signed = !flag("unsigned");
  f.has_zero = !flag("nozero");
  if (const Argument* bias = take("bias")) f.bias = number<int>(*bias);
  if (const Argument* specials = take("specials")) {
    const std::string_view word = specials->value;
    if (word == "ieee")
      f.specials = Specials::ieee;
    else if (word == "finite")
      f.specials = Specials::finite;
    else if (word == "fn")
      f.specials = Specials::fn;
    else if (word == "fnuz")
      f.specials = Specials::fnuz;
    else if (word == "p3109")
      f.specials = Specials::p3109;
    else
      fail("unknown specials", specials->column, word, "ieee, finite, fn, fnuz or p3109");
  }
  return {f, {}};
}

Format Parser::fixed_base() {
  GridElement g{.is_integer = false};
  g.bits = positional("word length");
  g.fraction_bits = positional("fraction length");
  return {g, {}};
}

Format Parser::bfp_base() {
  GridElement g{.is_symmetric = true, .is_integer = false};
  g.bits = positional("word length");
  g.fraction_bits = std::clamp(g.bits, 1, 32) - 2;
  return {g, {.kind = ScaleKind::power_of_two}};
}

Format Parser::posit_base() {
  PositElement p;
  p.bits = positional("bits");
  p.exponent_bits = positional("exponent bits");
  return {p, {}};
}

// IEEE P3109: K bits of which P are precision; extended (with infinities) unless `finite`.
Format Parser::p3109_base() {
  const int k = positional("bits K");
  const int p = positional("precision P");
  FloatElement f;
  f.is_signed = !flag("unsigned");
  const bool finite = flag("finite");
  const bool in_range = k >= 3 && k <= 16 && p >= 1 && p <= 16;
  f.mantissa_bits = in_range ? p - 1 : 0;
  f.exponent_bits = in_range ? k - p + (f.is_signed ? 0 : 1) : 0;
  if (f.exponent_bits < 1 || f.exponent_bits > 8) {
    fail("impossible P3109 format", name_column_, text_,
         "3 <= K <= 16, 1 <= P and 1 to 8 exponent bits");
  }
  f.bias = 1 << (f.exponent_bits - 1);
  f.specials = !finite ? Specials::p3109 : f.is_signed ? Specials::fnuz : Specials::fn;
  return {f, {}};
}

std::vector<float> Parser::list_of(const Argument& argument) const {
  std::vector<float> values;
  std::string_view rest = argument.value;
  rest.remove_prefix(1);
  rest.remove_suffix(1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    const auto column = static_cast<std::size_t>(item.data() - text_.data());
    values.push_back(number<float>(item, column));
    if (!std::isfinite(values.back())) fail("wrong number", column, item, "a finite number");
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

Format Parser::codebook_base() {
  const Argument* table = bare();
  if (table == nullptr) fail("missing argument", text_.size(), "", "a table: nf4 or [a, b, …]");
  CodebookElement c;
  if (table->value.front() == '[' && table->value.back() == ']') {
    c.values = list_of(*table);
    if (flag("signed")) {
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
    fail("unknown table", table->column, table->value, "nf4, new_format, act_format or [a, b, …]");
  }
  return {c, {}};
}

std::optional<Format> Parser::integer_base() const {
  const bool is_unsigned = name_.starts_with("uint");
  if (!is_unsigned && !name_.starts_with("int")) return std::nullopt;
  const std::string_view digits = name_.substr(is_unsigned ? 4 : 3);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return Format{GridElement{.bits = number<int>(digits, name_column_), .is_signed = !is_unsigned},
                {}};
}

Format Parser::base() {
  if (name_ == "float") return float_base();
  if (name_ == "fixed") return fixed_base();
  if (name_ == "bfp") return bfp_base();
  if (name_ == "posit") return posit_base();
  if (name_ == "p3109") return p3109_base();
  if (name_ == "codebook") return codebook_base();
  if (const auto named = format_by_name(name_)) return *named;
  if (const auto integer = integer_base()) return *integer;
  fail("unknown format", name_column_, name_,
       "a name of `nibble formats` or float(e,m), fixed(wl,fl), intN, uintN, bfp(wl), posit(n,es), "
       "p3109(K,P), codebook([…])");
}

void Parser::apply_element_options(Format& format) {
  if (auto* f = std::get_if<FloatElement>(&format.element)) {
    f->has_subnormals = switch_of("subnormals", f->has_subnormals);
  }
  if (auto* g = std::get_if<GridElement>(&format.element)) {
    if (flag("symmetric")) g->is_symmetric = true;
    if (!g->is_integer) g->clamps = switch_of("clamp", g->clamps);
  }
}

void Parser::apply_scaling(Format& format) {
  Scaling& s = format.scaling;
  if (const Argument* scale = take("scale")) {
    const std::string_view word = scale->value;
    if (s.kind != ScaleKind::none)
      fail("second scaling", scale->column, word, "none: the name has one");
    if (word == "absmax")
      s.kind = ScaleKind::absmax;
    else if (word == "minmax")
      s.kind = ScaleKind::minmax;
    else if (word == "pow2")
      s.kind = ScaleKind::power_of_two;
    else if (word == "two-level")
      s.kind = ScaleKind::two_level;
    else {
      s.kind = ScaleKind::given;
      s.scale = number<float>(*scale);
      if (!std::isfinite(s.scale) || s.scale <= 0) {
        fail("impossible scale", scale->column, word, "a finite number above 0");
      }
    }
  }
  if (const Argument* zero = take("zero")) {
    s.zero = number<int>(*zero);
    if (s.kind == ScaleKind::none) s.kind = ScaleKind::given;
    const auto* g = std::get_if<GridElement>(&format.element);
    if (s.kind != ScaleKind::given || g == nullptr || !g->is_integer || s.zero < g->lowest_n() ||
        s.zero > g->highest_n()) {
      fail("impossible zero point", zero->column, zero->value,
           "a code of an integer format with a given scale");
    }
  }
  if (const Argument* block = take("block")) {
    s.block = number<int>(*block);
    if (s.block < 1 || s.kind == ScaleKind::none || s.kind == ScaleKind::given) {
      fail("impossible block", block->column, block->value,
           "a length of at least 1 with scale=pow2, absmax, minmax or two-level");
    }
    s.granularity = Granularity::block;
  }
  if (const Argument* axis = take("axis")) {
    s.axis = number<int>(*axis);
    if (s.kind == ScaleKind::none) s.kind = ScaleKind::given;
    if (s.granularity == Granularity::tensor) s.granularity = Granularity::axis;
    if (s.axis < -8 || s.axis > 7) fail("impossible axis", axis->column, axis->value, "-8 to 7");
  }
  if (const Argument* rule = take("rule")) {
    if (s.kind != ScaleKind::power_of_two) {
      fail("rule without a shared exponent", rule->column, rule->value,
           "bfp, an MX format or scale=pow2");
    }
    if (rule->value == "floor")
      s.rule = ScaleRule::floor;
    else if (rule->value == "ceil")
      s.rule = ScaleRule::ceil;
    else if (rule->value == "even")
      s.rule = ScaleRule::even;
    else if (rule->value == "rceil")
      s.rule = ScaleRule::rceil;
    else
      fail("unknown rule", rule->column, rule->value, "floor, ceil, even or rceil");
  }
}

void Parser::reject_leftovers() const {
  for (const Argument& a : arguments_) {
    if (!a.used) {
      fail("unexpected argument", a.column, a.key.empty() ? a.value : a.key,
           "an option of " + std::string(name_) + " (see docs/formats)");
    }
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

Format Parser::parse() {
  Format format = base();
  apply_element_options(format);
  apply_scaling(format);
  reject_leftovers();
  check(format.element);
  check_halves(format, text_);
  return format;
}

Format parse_format(std::string_view text) {
  if (trimmed(text).empty()) throw Error("format", "empty format", "''", "a name such as e4m3");
  return Parser(text).parse();
}

}  // namespace nibble
