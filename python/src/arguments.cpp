// SPDX-License-Identifier: Apache-2.0
// Python arguments as Nibble's types.
#include <nanobind/stl/string.h>

#include "python/src/arguments.h"

#include <limits>
#include <string>
#include <unordered_map>

#include "python/src/array.h"
#include "python/src/errors.h"

namespace nibble::python {
namespace {

constexpr std::size_t kMostCachedFormats = 256;

// What the last text meant. Programs pass one literal again and again; kept alive, its address says
// enough. Under the GIL.
template <class Meaning>
class Last {
 public:
  const Meaning* of(nb::handle text) const { return text.is(text_) ? &meaning_ : nullptr; }
  const Meaning& keep(nb::handle text, Meaning meaning) {
    const nb::handle before = text_;
    text_ = text.inc_ref();
    meaning_ = std::move(meaning);
    before.dec_ref();
    return meaning_;
  }

 private:
  nb::handle text_;  // not given back at the end, when Python is gone
  Meaning meaning_;
};

template <auto kParse>
auto meaning_of(nb::handle object, std::string_view function, std::string_view name) {
  static Last<decltype(kParse(std::string_view()))> last;
  if (const auto* meaning = last.of(object)) return *meaning;
  return last.keep(object, kParse(text_of(object, function, name)));
}

// What stands beside the data: the Python side has made it a dense array of this type.
template <class T>
std::vector<T> values_of(nb::handle object, std::string_view function, std::string_view name) {
  if (object.is_none()) return {};
  const Array array(object, {function, name}, Access::read);
  const ConstTensorView view = array.view();
  if (!array.is_contiguous() || !array.is_on_cpu())
    throw TypeMistake(function, name, "a strided array", "a dense one");
  const auto values = view.as<std::conditional_t<std::is_same_v<T, int>, std::int32_t, T>>();
  return {values.begin(), values.end()};
}

}  // namespace

ParsedFormat::ParsedFormat(Format parsed)
    : format(std::move(parsed)), info(describe(format.element)), text(to_string(format)) {}

std::string_view text_of(nb::handle object, std::string_view function, std::string_view name) {
  if (!PyUnicode_Check(object.ptr())) throw TypeMistake(function, name, described(object), "a str");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

std::uint64_t integer_of(nb::handle object, std::string_view function, std::string_view name,
                         std::uint64_t largest) {
  const auto number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    throw TypeMistake(function, name, described(object), "an int");
  }
  constexpr auto kFailed = static_cast<unsigned long long>(-1);
  const unsigned long long value = PyLong_AsUnsignedLongLong(number.ptr());
  const bool is_out = value == kFailed && PyErr_Occurred() != nullptr;
  if (is_out) PyErr_Clear();
  if (is_out || value > largest) {
    throw Error(function, name, nb::cast<std::string>(nb::repr(number)),
                "0 to " + std::to_string(largest));
  }
  return value;
}

bool truth_of(nb::handle object, std::string_view function, std::string_view name) {
  if (!PyBool_Check(object.ptr())) throw TypeMistake(function, name, described(object), "a bool");
  return object.is(Py_True);
}

Shape shape_argument(nb::handle object, Argument argument) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (PySequence_Check(object.ptr()) == 0 || PyUnicode_Check(object.ptr()) != 0) {
    throw TypeMistake(argument.function, argument.name, described(object), "a tuple of ints");
  }
  std::vector<std::int64_t> extents;
  for (const nb::handle extent : nb::tuple(nb::borrow(object))) {
    extents.push_back(
        static_cast<std::int64_t>(integer_of(extent, argument.function, argument.name, kMost)));
  }
  return shape_of(argument, extents.data(), static_cast<std::int64_t>(extents.size()));
}

FormatReference format_of(nb::handle object, std::string_view function, std::string_view name) {
  static Last<FormatReference> last;
  if (const FormatReference* format = last.of(object)) return *format;
  if (!PyUnicode_Check(object.ptr())) {
    static const nb::handle type = nb::type<FormatObject>();  // final: nothing derives from it
    if (object.type().is(type)) return nb::inst_ptr<FormatObject>(object)->parsed;
    throw TypeMistake(function, name, described(object), "a str or a nibble.Format");
  }
  static std::unordered_map<std::string, FormatReference> cache;  // under the GIL
  const std::string text(text_of(object, function, name));
  if (const auto found = cache.find(text); found != cache.end())
    return last.keep(object, found->second);
  auto parsed = std::make_shared<const ParsedFormat>(parse_format(text));
  if (cache.size() >= kMostCachedFormats) cache.clear();
  cache.emplace(text, parsed);
  return last.keep(object, parsed);
}

RandomKey random_of(nb::handle seed, nb::handle step, nb::handle stream,
                    std::string_view function) {
  constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
  return {.seed = integer_of(seed, function, "seed", std::numeric_limits<std::uint64_t>::max()),
          .stream = static_cast<std::uint32_t>(integer_of(stream, function, "stream", kMost32)),
          .step = static_cast<std::uint32_t>(integer_of(step, function, "step", kMost32))};
}

QuantizeOptions options_of(const OptionHandles& handles, std::string_view function) {
  QuantizeOptions options;
  options.rounding = meaning_of<parse_rounding>(handles.rounding, function, "rounding");
  options.overflow = meaning_of<parse_overflow>(handles.overflow, function, "overflow");
  options.random = random_of(handles.seed, handles.step, handles.stream, function);
  if (handles.compat.is_valid()) {
    options.compat = meaning_of<parse_compat>(handles.compat, function, "compat");
  }
  options.scales = values_of<float>(handles.scales, function, "scales");
  options.zeros = values_of<int>(handles.zeros, function, "zeros");
  return options;
}

}  // namespace nibble::python
