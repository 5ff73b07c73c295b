// SPDX-License-Identifier: Apache-2.0
// NumPy and torch, looked up once.
#include "python/src/modules.h"

namespace nibble::python {
namespace {

// Kept for the life of the process: modules outlive the calls that use them.
nb::handle kept(nb::handle object, const char* name) {
  return nb::object(object.attr(name)).release();
}

nb::handle kept_or_null(nb::handle object, const char* name) {
  return nb::hasattr(object, name) ? kept(object, name) : nb::handle();
}

const dlpack::ExchangeApi* exchange_of(nb::handle type) {
  constexpr const char* kName = "dlpack_exchange_api";
  const nb::handle capsule = kept_or_null(type, "__dlpack_c_exchange_api__");
  if (!capsule.is_valid() || PyCapsule_IsValid(capsule.ptr(), kName) == 0) return nullptr;
  const auto* api =
      static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  const bool is_whole =
      api->tensor_of != nullptr && api->allocate != nullptr && api->current_stream != nullptr;
  return api->major == dlpack::kMajor && is_whole ? api : nullptr;
}

Torch look_up(nb::handle module) {
  const nb::object inner = module.attr("_C");
  return {
      .module = nb::borrow(module).release(),
      .tensor_type = reinterpret_cast<PyTypeObject*>(kept(module, "Tensor").ptr()),
      .empty_like = kept(module, "empty_like"),
      .empty = kept(module, "empty"),
      .strided = kept(module, "strided"),
      .int8 = kept(module, "int8"),
      .uint8 = kept(module, "uint8"),
      .int16 = kept(module, "int16"),
      .int32 = kept(module, "int32"),
      .f16 = kept(module, "float16"),
      .bf16 = kept(module, "bfloat16"),
      .f32 = kept(module, "float32"),
      .f64 = kept(module, "float64"),
      .int64 = kept(module, "int64"),
      .current_stream = kept_or_null(inner, "_cuda_getCurrentRawStream"),
      .parameter_type = reinterpret_cast<PyTypeObject*>(kept(module.attr("nn"), "Parameter").ptr()),
      .exchange = exchange_of(module.attr("Tensor"))};
}

}  // namespace

const NumPy& numpy() {
  static const NumPy found = [] {
    const nb::object module = nb::module_::import_("numpy");
    return NumPy{.array_type = reinterpret_cast<PyTypeObject*>(kept(module, "ndarray").ptr()),
                 .empty_like = kept(module, "empty_like"),
                 .empty = kept(module, "empty")};
  }();
  return found;
}

const Torch* torch() {
  static std::optional<Torch> found;
  if (found) return &*found;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = modules == nullptr ? nullptr : PyDict_GetItemString(modules, "torch");
  if (module == nullptr || module == Py_None) return nullptr;
  try {
    found = look_up(module);  // fails while torch itself is being imported
  } catch (nb::python_error&) {
    return nullptr;
  }
  return &*found;
}

std::optional<DType> Torch::dtype_of(nb::handle dtype) const {
  if (dtype.is(f32)) return DType::f32;
  if (dtype.is(f16)) return DType::f16;
  if (dtype.is(bf16)) return DType::bf16;
  if (dtype.is(int8)) return DType::i8;
  if (dtype.is(uint8)) return DType::u8;
  if (dtype.is(int16)) return DType::i16;
  if (dtype.is(int32)) return DType::i32;
  if (dtype.is(int64)) return DType::i64;
  if (dtype.is(f64)) return DType::f64;
  return std::nullopt;
}

nb::handle Torch::of(DType dtype) const {
  switch (dtype) {
    case DType::f32:
      return f32;
    case DType::f64:
      return f64;
    case DType::f16:
      return f16;
    case DType::bf16:
      return bf16;
    case DType::i8:
      return int8;
    case DType::u8:
      return uint8;
    case DType::i16:
    case DType::u16:
      return int16;
    case DType::i32:
    case DType::u32:
      return int32;
    case DType::i64:
    case DType::u64:
      return int64;
  }
  return f32;
}

}  // namespace nibble::python
