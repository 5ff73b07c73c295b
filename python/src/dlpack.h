// SPDX-License-Identifier: Apache-2.0
// The C structures of DLPack, by which packages lend each other memory.
#pragma once

#include <cstdint>
#include <optional>

#include "nibble/core/dtype.h"

namespace nibble::python::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4 };

struct Device {
  std::int32_t type;
  std::int32_t index;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

std::optional<DType> dtype_of(DataType type);

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

// In a capsule named "dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

inline constexpr std::uint32_t kMajor = 1;  // of the structures below that have a version
inline constexpr std::uint64_t kReadOnly = 1;

// In a capsule named "dltensor_versioned".
struct ManagedVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

// What a package's tensors can do without a call of Python: the capsule __dlpack_c_exchange_api__
// of their type, named "dlpack_exchange_api" (DLPack 1.2). Functions return 0, or set a Python
// error.
struct ExchangeApi {
  std::uint32_t major;
  std::uint32_t minor;
  const void* previous;
  int (*allocate)(Tensor*, ManagedVersioned**, void*, void (*)(void*, const char*, const char*));
  int (*managed_of)(void* object, ManagedVersioned**);
  int (*object_of)(ManagedVersioned*, void** object);
  int (*tensor_of)(void* object, Tensor*);  // borrowed while the object lives and is not changed
  int (*current_stream)(DeviceType, std::int32_t index, void** stream);
};

}  // namespace nibble::python::dlpack
