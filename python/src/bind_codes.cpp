// SPDX-License-Identifier: Apache-2.0
// encode and decode: values as integers with the scales that give them meaning, and back.
#include <cstring>
#include <string>

#include "nibble/kernels/quantize.h"
#include "python/src/arguments.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/checks.h"
#include "python/src/device_calls.h"
#include "python/src/errors.h"
#include "python/src/new_arrays.h"
#include "python/src/strided.h"

namespace nibble::python {
namespace {

Tensor scalar_tensor(float value) {
  Tensor tensor(DType::f32, Shape{});
  tensor.as<float>()[0] = value;
  return tensor;
}

Tensor bytes_tensor(const std::vector<std::uint8_t>& bytes) {
  Tensor tensor(DType::u8, Shape{static_cast<std::int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

nb::tuple encode_on_cpu(const Array& input, const ParsedFormat& format, bool is_packed,
                        const QuantizeOptions& options) {
  Encoded encoded;
  {
    const nb::gil_scoped_release others_may_run;
    Tensor gathered;
    encoded = encode(dense(input, gathered), format.format, options);
    if (is_packed) {
      encoded.codes = bytes_tensor(pack_codes(encoded.codes.view(), format.info.code_bits));
    }
  }
  const auto or_none = [&](Tensor& tensor, bool is_there) {
    return is_there ? to_python(std::move(tensor), input.kind()) : nb::none();
  };
  const bool has_tensor_scale = format.format.scaling.kind == ScaleKind::two_level;
  const bool has_zeros = encoded.zeros.data() != nullptr;
  Tensor tensor_scale = scalar_tensor(encoded.tensor_scale);
  return nb::make_tuple(to_python(std::move(encoded.codes), input.kind()),
                        or_none(encoded.scales, format.is_scaled()),
                        or_none(encoded.zeros, has_zeros), or_none(tensor_scale, has_tensor_scale));
}

nb::tuple encode_array(nb::handle x, nb::handle fmt, nb::handle packed, nb::handle rounding,
                       nb::handle overflow, nb::handle seed, nb::handle step, nb::handle stream,
                       nb::handle scales, nb::handle zeros) {
  constexpr std::string_view kFunction = "encode";
  const FormatReference format = format_of(fmt, kFunction);
  const QuantizeOptions options =
      options_of({rounding, overflow, seed, step, stream, nb::handle(), scales, zeros}, kFunction);
  const bool is_packed = truth_of(packed, kFunction, "packed");
  const Array input(x, {kFunction, "x"}, Access::read);
  check_value_type(input, {kFunction, "x"});
  const nb::tuple parts = input.is_on_cpu() ? encode_on_cpu(input, *format, is_packed, options)
                                            : encode_on_device(input, *format, is_packed, options);
  nb::list shape;  // what a package lends for one use can say it to nobody else
  for (const std::int64_t extent : input.shape().extents()) shape.append(extent);
  return nb::make_tuple(parts[0], parts[1], parts[2], parts[3], nb::tuple(shape));
}

// The elements as another type of the same width.
Tensor copied_as(const Array& array, DType dtype, Argument argument) {
  if (size_of(array.dtype()) != size_of(dtype) || !array.is_on_cpu()) {
    throw TypeMistake(argument.function, std::string(argument.name) + "'s dtype",
                      python_name(array.dtype()), python_name(dtype));
  }
  Tensor gathered;
  const ConstTensorView view = dense(array, gathered);
  return copy_of({view.data(), dtype, view.shape()});
}

Tensor copied_as(nb::handle object, DType dtype, Argument argument) {
  return copied_as(Array(object, argument, Access::read), dtype, argument);
}

nb::object decode_on_cpu(const Array& codes, const ParsedFormat& format, bool is_packed,
                         const Shape& shape, nb::handle scales, nb::handle zeros,
                         nb::handle tensor_scale) {
  constexpr std::string_view kFunction = "decode";
  const int bits = format.info.code_bits;
  const DType type = is_packed || bits <= 8 ? DType::u8 : bits <= 16 ? DType::u16 : DType::u32;
  Encoded encoded;
  encoded.codes = copied_as(codes, type, {kFunction, "codes"});
  if (!scales.is_none()) encoded.scales = copied_as(scales, DType::f32, {kFunction, "scales"});
  if (!zeros.is_none()) encoded.zeros = copied_as(zeros, DType::i32, {kFunction, "zeros"});
  if (!tensor_scale.is_none()) {
    const Tensor one = copied_as(tensor_scale, DType::f32, {kFunction, "tensor_scale"});
    if (one.elements() != 1) {
      throw Error(kFunction, "tensor_scale's elements", std::to_string(one.elements()), "1");
    }
    encoded.tensor_scale = one.as<float>()[0];
  } else if (format.format.scaling.tensor_scale != 0) {
    encoded.tensor_scale = format.format.scaling.tensor_scale;
  }
  Tensor values;
  {
    const nb::gil_scoped_release others_may_run;
    if (is_packed) {
      const auto bytes = encoded.codes.as<std::uint8_t>();
      encoded.codes = unpack_codes({bytes.begin(), bytes.end()}, bits, shape);
    }
    values = decode(encoded, format.format);
  }
  return to_python(std::move(values), codes.kind());
}

nb::object decode_array(nb::handle codes, nb::handle fmt, nb::handle packed, nb::handle shape,
                        nb::handle scales, nb::handle zeros, nb::handle tensor_scale) {
  constexpr std::string_view kFunction = "decode";
  const FormatReference format = format_of(fmt, kFunction);
  const bool is_packed = truth_of(packed, kFunction, "packed");
  const Array array(codes, {kFunction, "codes"}, Access::read);
  const Shape wanted =
      shape.is_none() ? array.shape() : shape_argument(shape, {kFunction, "shape"});
  if (!is_packed) check_shape(array, wanted, {kFunction, "codes"});
  const Scaling& scaling = format->format.scaling;
  if (scaling.kind == ScaleKind::two_level && scaling.tensor_scale == 0 && tensor_scale.is_none()) {
    throw Error(kFunction, "tensor_scale", "None", "the tensor's scale");
  }
  if (array.is_on_cpu()) {
    return decode_on_cpu(array, *format, is_packed, wanted, scales, zeros, tensor_scale);
  }
  return decode_on_device(array, *format, is_packed, wanted, scales, zeros, tensor_scale);
}

}  // namespace

void bind_codes(nb::module_& module) {
  const auto any = [](const char* name) { return nb::arg(name).none(); };
  module.def("encode", encode_array, any("x"), any("fmt"), any("packed"), any("rounding"),
             any("overflow"), any("seed"), any("step"), any("stream"), any("scales"), any("zeros"),
             nb::sig("def encode(x: object, fmt: object, packed: object, rounding: object, "
                     "overflow: object, seed: object, step: object, stream: object, "
                     "scales: object, zeros: object) -> "
                     "tuple[object, object, object, object, tuple[int, ...]]"));
  module.def("decode", decode_array, any("codes"), any("fmt"), any("packed"), any("shape"),
             any("scales"), any("zeros"), any("tensor_scale"));
}

}  // namespace nibble::python
