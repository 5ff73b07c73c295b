// SPDX-License-Identifier: Apache-2.0
// nibble.Format, and the list of named formats.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "python/src/arguments.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/errors.h"

namespace nibble::python {
namespace {

constexpr int kMostListedBits = 16;

// Format(text) alone: nanobind's own message about other calls has several lines.
void construct(FormatObject* self, const nb::args& args, const nb::kwargs& kwargs) {
  if (args.size() + kwargs.size() != 1 || (kwargs.size() == 1 && !kwargs.contains("text"))) {
    throw TypeMistake("format", "arguments", std::to_string(args.size() + kwargs.size()),
                      "one: the text");
  }
  const nb::object text = args.size() == 1 ? nb::object(args[0]) : nb::object(kwargs["text"]);
  new (self) FormatObject{format_of(text, "format", "text")};
}

std::string_view family_of(const Format& format) {
  static constexpr std::string_view kFamilies[] = {"float", "grid", "posit", "codebook"};
  return kFamilies[format.element.index()];
}

std::vector<double> values_of(const FormatObject& self) {
  if (self.parsed->info.code_bits > kMostListedBits) {
    throw Error("values", "bits of " + self.parsed->text,
                std::to_string(self.parsed->info.code_bits),
                "at most " + std::to_string(kMostListedBits));
  }
  const auto* table = std::get_if<CodebookElement>(&self.parsed->format.element);
  const std::uint32_t codes = table ? static_cast<std::uint32_t>(table->values.size())
                                    : std::uint32_t{1} << self.parsed->info.code_bits;
  std::vector<double> values;
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double value = decode_code(self.parsed->format.element, code);
    if (!std::isnan(value)) values.push_back(value == 0 ? 0.0 : value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

nb::object to_numpy(std::vector<double> values) {
  auto kept = std::make_unique<std::vector<double>>(std::move(values));
  const std::size_t shape[] = {kept->size()};
  double* data = kept->data();
  const nb::capsule owner(kept.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(data, 1, shape, owner));
}

// Not NotImplemented for others: NumPy would compare element by element, or raise.
bool equals(const FormatObject& self, nb::handle other) {
  return nb::isinstance<FormatObject>(other) &&
         self.parsed->format == nb::inst_ptr<FormatObject>(other)->parsed->format;
}

std::string repr(const FormatObject& self) {
  return "nibble.Format(\"" + self.parsed->text + "\")";
}

// (name, family, summary) of every named format.
nb::list list_formats() {
  nb::list rows;
  const auto text = [](std::string_view view) { return nb::str(view.data(), view.size()); };
  for (const NamedFormat& named : named_formats()) {
    rows.append(nb::make_tuple(text(named.name), text(named.family), text(named.summary)));
  }
  return rows;
}

}  // namespace

void bind_format(nb::module_& module) {
  const auto word = [](std::string_view text) { return nb::str(text.data(), text.size()); };
  nb::class_<FormatObject>(module, "Format", nb::is_final(),
                           "A number format: element times scaling, from its text form.")
      .def("__init__", construct, nb::sig("def __init__(self, text: str) -> None"))
      .def("__str__", [](const FormatObject& self) { return self.parsed->text; })
      .def("__repr__", repr)
      .def("__eq__", equals, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__hash__",
          [](const FormatObject& self) { return std::hash<std::string>()(self.parsed->text) >> 1; },
          nb::sig("def __hash__(self) -> int"))
      .def(
          "__reduce__",
          [](nb::handle self) {
            return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
          },
          nb::sig("def __reduce__(self) -> tuple[type[Format], tuple[str]]"))
      .def_prop_ro(
          "bits", [](const FormatObject& self) { return self.parsed->info.code_bits; },
          "Bits of a code, without its share of the scales.")
      .def_prop_ro(
          "max", [](const FormatObject& self) { return self.parsed->info.max; },
          "Largest finite value of the element.")
      .def_prop_ro(
          "lowest", [](const FormatObject& self) { return self.parsed->info.lowest; },
          "Smallest finite value of the element.")
      .def_prop_ro(
          "min_positive", [](const FormatObject& self) { return self.parsed->info.min_positive; },
          "Smallest value above zero.")
      .def_prop_ro(
          "min_normal", [](const FormatObject& self) { return self.parsed->info.min_normal; },
          "Smallest value with full precision; min_positive unless a float.")
      .def_prop_ro(
          "precision_bits",
          [](const FormatObject& self) { return self.parsed->info.precision_bits; },
          "Significant bits at most, the hidden one included; 0 for codebooks.")
      .def_prop_ro(
          "has_infinity", [](const FormatObject& self) { return self.parsed->info.has_infinity; },
          "Whether a code stands for infinity.")
      .def_prop_ro(
          "has_nan", [](const FormatObject& self) { return self.parsed->info.has_nan; },
          "Whether a code stands for NaN.")
      .def_prop_ro(
          "has_zero", [](const FormatObject& self) { return self.parsed->info.has_zero; },
          "Whether a code stands for 0.")
      .def_prop_ro(
          "has_negative_zero",
          [](const FormatObject& self) { return self.parsed->info.has_negative_zero; },
          "Whether -0 has a code of its own.")
      .def_prop_ro(
          "is_scaled", [](const FormatObject& self) { return self.parsed->is_scaled(); },
          "Whether values are elements times a scale.")
      .def_prop_ro(
          "family",
          [word](const FormatObject& self) { return word(family_of(self.parsed->format)); },
          nb::sig("def family(self) -> str"), "\"float\", \"grid\", \"posit\" or \"codebook\".")
      .def_prop_ro(
          "element",
          [](const FormatObject& self) {
            return FormatObject{
                std::make_shared<const ParsedFormat>(Format{self.parsed->format.element, {}})};
          },
          "The format without its scaling.")
      .def(
          "values", [](const FormatObject& self) { return to_numpy(values_of(self)); },
          nb::sig("def values(self) -> \"numpy.typing.NDArray[numpy.float64]\""),
          "All values of the element but NaN, ascending; formats of at most 16 bits.\n\n"
          ">>> nibble.Format(\"e2m1\").values()[-3:]\n"
          "array([3., 4., 6.])");
  module.def("formats", list_formats, nb::sig("def formats() -> list[tuple[str, str, str]]"),
             "Name, family and summary of every named format.");
}

}  // namespace nibble::python
