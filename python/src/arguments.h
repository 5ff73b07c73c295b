// SPDX-License-Identifier: Apache-2.0
// Python arguments as Nibble's types; every mistake is one line that names the argument.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nibble/kernels/quantize.h"
#include "python/src/array.h"

namespace nibble::python {

namespace nb = nanobind;

// A format with what is asked for on every call, found once.
struct ParsedFormat {
  Format format;
  ElementInfo info;
  std::string text;  // canonical

  explicit ParsedFormat(Format parsed);
  bool is_scaled() const { return format.scaling.kind != ScaleKind::none; }
};

std::string_view text_of(nb::handle object, std::string_view function, std::string_view name);
std::uint64_t integer_of(nb::handle object, std::string_view function, std::string_view name,
                         std::uint64_t largest);

// Shared, so that a format outlives the cache of texts and the Python object it came from.
using FormatReference = std::shared_ptr<const ParsedFormat>;

bool truth_of(nb::handle object, std::string_view function, std::string_view name);
Shape shape_argument(nb::handle object, Argument argument);  // a sequence of ints

// What a nibble.Format holds.
struct FormatObject {
  FormatReference parsed;
};

// A Format or its text; texts are read once.
FormatReference format_of(nb::handle object, std::string_view function,
                          std::string_view name = "fmt");

// The options that quantize, encode and stats share, as Python hands them over; encode has no
// `compat`, which is then null.
struct OptionHandles {
  nb::handle rounding, overflow, seed, step, stream, compat, scales, zeros;
};
QuantizeOptions options_of(const OptionHandles& handles, std::string_view function);

RandomKey random_of(nb::handle seed, nb::handle step, nb::handle stream, std::string_view function);

}  // namespace nibble::python
