// SPDX-License-Identifier: Apache-2.0
// encode and decode on a GPU.
#include <optional>
#include <string>

#include "nibble/kernels/device_quantize.h"
#include "python/src/checks.h"
#include "python/src/device_calls.h"
#include "python/src/device_memory.h"
#include "python/src/errors.h"
#include "python/src/new_arrays.h"

namespace nibble::python {
namespace {

// A new tensor that a kernel fills, or None.
class Result {
 public:
  Result(const Array& like, DType dtype, const Shape& shape, bool is_there) {
    if (!is_there) return;
    object_ = empty_on_device(like, dtype, shape);
    array_.emplace(object_, Argument{"array", "a new array"}, Access::read);
  }
  template <class T>
  T* data() const {
    return array_ ? reinterpret_cast<T*>(array_->data()) : nullptr;
  }
  nb::object object() const { return object_.is_valid() ? object_ : nb::none(); }

 private:
  nb::object object_;
  std::optional<Array> array_;
};

// An array beside the codes, on their device and of a known length; null for None.
class Beside {
 public:
  Beside(nb::handle object, const Array& codes, DType dtype, std::int64_t count, const char* name) {
    if (object.is_none()) return;
    const Argument argument{"decode", name};
    array_.emplace(object, argument, Access::read);
    check_same_device(codes, *array_, argument);
    if (array_->dtype() != dtype) {
      throw TypeMistake("decode", std::string(name) + "'s dtype", python_name(array_->dtype()),
                        python_name(dtype));
    }
    if (array_->shape().elements() != count) {
      throw Error("decode", std::string("number of ") + name,
                  std::to_string(array_->shape().elements()), std::to_string(count));
    }
    dense_.emplace(*array_, "decode");
  }
  template <class T>
  T* data() const {
    return dense_ ? static_cast<T*>(dense_->array().data) : nullptr;
  }

 private:
  std::optional<Array> array_;
  std::optional<DeviceInput> dense_;
};

}  // namespace

nb::tuple encode_on_device(const Array& input, const ParsedFormat& format, bool is_packed,
                           const QuantizeOptions& options) {
  constexpr std::string_view kFunction = "encode";
  const Shape& shape = input.shape();
  const DeviceEncodedSizes sizes = device_encoded_sizes(shape, format.format, is_packed);
  const Shape flat{static_cast<std::int64_t>(sizes.code_bytes)};
  const Result codes(input, sizes.code_type, is_packed ? flat : shape, true);
  const Result scales(input, DType::f32, sizes.scales, sizes.has_scales);
  const Result zeros(input, DType::i32, sizes.scales, sizes.has_zeros);
  const Result tensor_scale(input, DType::f32, Shape{}, sizes.has_tensor_scale);
  const DeviceInput from(input, kFunction);
  const DeviceEncoded encoded{.codes = {codes.data<void>(), sizes.code_type},
                              .packed = is_packed,
                              .scales = scales.data<float>(),
                              .zeros = zeros.data<std::int32_t>(),
                              .tensor_scale = tensor_scale.data<float>()};
  on_device(kFunction, input, [&](const cuda::Place& place) {
    const Workspace workspace(device_encode_workspace(shape, format.format, is_packed, options),
                              input);
    device_encode(from.array(), encoded, shape, format.format, options, workspace.data(), place);
  });
  return nb::make_tuple(codes.object(), scales.object(), zeros.object(), tensor_scale.object());
}

nb::object decode_on_device(const Array& codes, const ParsedFormat& format, bool is_packed,
                            const Shape& shape, nb::handle scales, nb::handle zeros,
                            nb::handle tensor_scale) {
  constexpr std::string_view kFunction = "decode";
  const DeviceEncodedSizes sizes = device_encoded_sizes(shape, format.format, is_packed);
  const DeviceInput from(codes, kFunction);
  if (size_of(codes.dtype()) != size_of(sizes.code_type)) {
    throw TypeMistake(kFunction, "codes's dtype", python_name(codes.dtype()),
                      python_name(sizes.code_type));
  }
  const auto bytes = static_cast<std::size_t>(codes.shape().elements()) * size_of(codes.dtype());
  if (bytes != sizes.code_bytes) {
    throw Error(kFunction, "bytes of codes", std::to_string(bytes),
                std::to_string(sizes.code_bytes));
  }
  const std::int64_t groups = sizes.has_scales ? sizes.scales.elements() : 0;
  const Beside scale_values(scales, codes, DType::f32, groups, "scales");
  const Beside zero_values(zeros, codes, DType::i32, groups, "zeros");
  const Beside tensor_value(tensor_scale, codes, DType::f32, 1, "tensor_scale");
  if (sizes.has_scales && scales.is_none())
    throw Error(kFunction, "scales", "None", "the groups' scales");
  if (sizes.has_zeros && zeros.is_none())
    throw Error(kFunction, "zeros", "None", "the groups' zero points");
  const DeviceEncoded encoded{.codes = {from.array().data, sizes.code_type},
                              .packed = is_packed,
                              .scales = scale_values.data<float>(),
                              .zeros = zero_values.data<std::int32_t>(),
                              .tensor_scale = tensor_value.data<float>()};
  const DType type = format.info.decodes_to_fp32 ? DType::f32 : DType::f64;
  const Result values(codes, type, shape, true);
  on_device(kFunction, codes, [&](const cuda::Place& place) {
    const Workspace workspace(device_decode_workspace(shape, format.format, is_packed), codes);
    device_decode(encoded, {values.data<void>(), type}, shape, format.format, workspace.data(),
                  place);
  });
  return values.object();
}

}  // namespace nibble::python
