// SPDX-License-Identifier: Apache-2.0
// Which formats and roundings the reproduced packages have.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "nibble/core/error.h"
#include "numerics/compat_qtorch.h"

namespace nibble::inline numerics {
namespace {

struct Refusal {
  std::string what;
  std::string got;
  std::string expected;
};

bool is_block_float(const Format& format) {
  const auto* g = std::get_if<GridElement>(&format.element);
  const Scaling& s = format.scaling;
  return g != nullptr && s.kind == ScaleKind::power_of_two && s.rule == ScaleRule::floor &&
         s.granularity != Granularity::block && g->is_signed && g->is_symmetric && g->clamps &&
         g->fraction_bits == g->bits - 2;
}

// What the format lacks to be one of the package's; its scaling aside.
std::string missing(const GridElement& g, const Format& format) {
  if (format.scaling.kind == ScaleKind::power_of_two) {
    if (!is_block_float(format)) return "bfp(wl) over the tensor or axis=d, rule=floor";
    return g.bits <= 22 ? "" : "a word length of 2 to 22";
  }
  return g.is_signed ? "" : "a signed fixed-point format";
}

std::string missing(const FloatElement& f, const Format&) {
  const bool is_plain = f.is_signed && f.has_zero && f.bias == (1 << (f.exponent_bits - 1)) - 1;
  return is_plain ? "" : "a signed float with the bias 2^(e-1)-1";
}

std::string missing(const PositElement& p, const Format&) {
  return p.bits <= 16 ? "" : "a posit of at most 16 bits";
}

std::string missing(const CodebookElement& c, const Format&) {
  const std::size_t n = c.values.size();
  bool is_symmetric = n % 2 == 1;
  for (std::size_t i = 0; i < n; ++i) {
    is_symmetric = is_symmetric && c.values[i] == -c.values[n - 1 - i];
  }
  return is_symmetric ? "" : "a table of both signs and zero: codebook([…],signed)";
}

bool is_forks_own(const Element& element) {
  return std::holds_alternative<PositElement>(element) ||
         std::holds_alternative<CodebookElement>(element);
}

bool has_scale_of_package(const Format& format) {
  const Scaling& s = format.scaling;
  if (s.kind == ScaleKind::none || is_block_float(format)) return true;
  const float inverse = 1.0F / s.scale;
  return is_forks_own(format.element) && s.kind == ScaleKind::given &&
         s.granularity == Granularity::tensor && s.zero == 0 && std::isfinite(inverse) &&
         inverse > 0;
}

std::optional<Refusal> refusal(const Format& format, const Rounding& rounding, Compat compat) {
  if (compat == Compat::none) return std::nullopt;
  const std::string package(to_string(compat));
  const std::string name = "'" + to_string(format) + "'";
  if (is_forks_own(format.element) && compat != Compat::qtorch_plus) {
    return Refusal{"format that " + package + " does not have", name,
                   "fixed(wl,fl), bfp(wl) or float(e,m); qtorch+ has posits and tables"};
  }
  const std::string expected =
      std::visit([&](const auto& e) { return missing(e, format); }, format.element);
  if (!expected.empty())
    return Refusal{"format that " + package + " does not have", name, expected};
  if (!has_scale_of_package(format)) {
    return Refusal{"scaling that " + package + " does not have", name,
                   is_forks_own(format.element) ? "none or scale=s for the tensor"
                                                : "none; blocks are bfp(wl)"};
  }
  const bool is_nearest = rounding.mode == RoundingMode::nearest_even;
  const bool is_stochastic = rounding.is_stochastic() && rounding.random_bits == 32;
  if (!is_nearest && (!is_stochastic || is_forks_own(format.element))) {
    return Refusal{"rounding that " + package + " does not have for " + name,
                   "'" + to_string(rounding) + "'",
                   is_forks_own(format.element)
                       ? "nearest-even"
                       : "nearest-even (the package's own \"nearest\") or stochastic"};
  }
  return std::nullopt;
}

}  // namespace

bool compat_supports(const Format& format, const Rounding& rounding, Compat compat) {
  return !refusal(format, rounding, compat);
}

void check_compat(const Format& format, const Rounding& rounding, Compat compat) {
  if (const auto r = refusal(format, rounding, compat)) {
    throw Error("compat", r->what, r->got, r->expected);
  }
}

}  // namespace nibble::inline numerics
