// SPDX-License-Identifier: Apache-2.0
// Whatever has __dlpack__.
#include <optional>
#include <string>

#include "python/src/array.h"
#include "python/src/device_memory.h"
#include "python/src/dlpack.h"
#include "python/src/errors.h"

namespace nibble::python {
namespace {

// The stream that the work will be queued on, which the package makes wait for its own; none on a
// CPU.
std::optional<std::uintptr_t> stream_for(nb::handle object, Argument argument) {
  constexpr std::uintptr_t kDefaultStream = 1;
  if (!nb::hasattr(object, "__dlpack_device__")) return std::nullopt;
  const nb::object device = object.attr("__dlpack_device__")();
  int type = 0;
  int index = 0;
  if (PyTuple_Check(device.ptr()) == 0 ||
      PyArg_ParseTuple(device.ptr(), "ii", &type, &index) == 0) {
    PyErr_Clear();
    throw TypeMistake(argument.function, std::string(argument.name) + ".__dlpack_device__()",
                      described(device), "two integers");
  }
  if (type != dlpack::kCuda && type != dlpack::kCudaManaged) return std::nullopt;
  const cuda::Place place = place_on(index);
  return place.stream == nullptr ? kDefaultStream : reinterpret_cast<std::uintptr_t>(place.stream);
}

// Asks for the newer structure, which says what is read-only; older packages know only the other.
nb::object capsule_of(nb::handle object, Argument argument) {
  const nb::object method = object.attr("__dlpack__");
  nb::dict options;
  if (const auto stream = stream_for(object, argument)) options["stream"] = *stream;
  nb::dict newer = nb::borrow<nb::dict>(options.attr("copy")());
  newer["max_version"] = nb::make_tuple(dlpack::kMajor, 0);
  try {
    return method(**newer);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(**options);
}

template <class Managed>
void release(void* managed) {
  auto* own = static_cast<Managed*>(managed);
  if (own->deleter != nullptr) own->deleter(own);
}

}  // namespace

std::optional<DType> dlpack::dtype_of(DataType type) {
  if (type.lanes != 1) return std::nullopt;
  switch (type.code << 8 | type.bits) {
    case kFloat << 8 | 32:
      return DType::f32;
    case kFloat << 8 | 16:
      return DType::f16;
    case kBfloat << 8 | 16:
      return DType::bf16;
    case kFloat << 8 | 64:
      return DType::f64;
    case kUInt << 8 | 8:
      return DType::u8;
    case kUInt << 8 | 16:
      return DType::u16;
    case kUInt << 8 | 32:
      return DType::u32;
    case kUInt << 8 | 64:
      return DType::u64;
    case kInt << 8 | 8:
      return DType::i8;
    case kInt << 8 | 16:
      return DType::i16;
    case kInt << 8 | 32:
      return DType::i32;
    case kInt << 8 | 64:
      return DType::i64;
    default:
      return std::nullopt;
  }
}

void Array::take_dlpack(Argument argument, Access access) {
  const std::string name(argument.name);
  if (!nb::hasattr(object_, "__dlpack__")) {
    throw TypeMistake(argument.function, name, described(object_),
                      "a NumPy array, a torch tensor or an object with __dlpack__");
  }
  const nb::object capsule = capsule_of(object_, argument);
  const dlpack::Tensor* tensor = nullptr;
  bool is_read_only = false;
  const auto take = [&]<class Managed>(const char* before, const char* after) -> Managed* {
    if (PyCapsule_IsValid(capsule.ptr(), before) == 0) return nullptr;
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), before));
    PyCapsule_SetName(capsule.ptr(), after);
    loan_.managed = managed;
    loan_.release = release<Managed>;
    tensor = &managed->tensor;
    return managed;
  };
  if (const auto* newer = take.operator()<dlpack::ManagedVersioned>("dltensor_versioned",
                                                                    "used_dltensor_versioned")) {
    if (newer->major != dlpack::kMajor) {  // all but its deleter may lie elsewhere
      throw TypeMistake(argument.function, name + "'s version of DLPack",
                        std::to_string(newer->major) + "." + std::to_string(newer->minor),
                        std::to_string(dlpack::kMajor) + ".x");
    }
    is_read_only = (newer->flags & dlpack::kReadOnly) != 0;
  } else if (take.operator()<dlpack::Managed>("dltensor", "used_dltensor") == nullptr) {
    throw TypeMistake(argument.function, name + ".__dlpack__()", described(capsule),
                      "a capsule with a DLPack tensor");
  }
  if (access == Access::write && is_read_only) {
    throw Error(argument.function, name, "a read-only array", "one that can be written");
  }
  if (tensor->device.type == dlpack::kCuda || tensor->device.type == dlpack::kCudaManaged) {
    device_ = {Device::Kind::cuda, tensor->device.index};
    loan_.place = place_on(device_.index);
  } else if (tensor->device.type != dlpack::kCpu && tensor->device.type != dlpack::kCudaHost) {
    throw StateMistake(argument.function, name + "'s device",
                       "DLPack type " + std::to_string(tensor->device.type), "CPU or CUDA");
  }
  const std::optional<DType> found = dlpack::dtype_of(tensor->dtype);
  if (!found) {
    throw TypeMistake(argument.function, name + "'s dtype",
                      "code " + std::to_string(tensor->dtype.code) + " of " +
                          std::to_string(tensor->dtype.bits) + " bits",
                      std::string(argument.types));
  }
  dtype_ = *found;
  take_layout(argument, *tensor);
}

void Array::take_layout(Argument argument, const dlpack::Tensor& tensor) {
  data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  shape_ = shape_of(argument, tensor.shape, tensor.rank);
  auto step = static_cast<std::int64_t>(size_of(dtype_));
  const std::int64_t size = step;
  for (std::size_t axis = shape_.rank(); axis-- > 0; step *= shape_[axis]) {
    strides_[axis] = tensor.strides == nullptr ? step : tensor.strides[axis] * size;
  }
  find_contiguous();
}

}  // namespace nibble::python
