// SPDX-License-Identifier: Apache-2.0
// Writes messages of ONNX.
#include "foreign/onnx/graph_writer.h"

#include <ostream>

#include "core/atomic_file.h"
#include "nibble/core/error.h"
#include "nibble/version.h"

namespace nibble::inline foreign {
namespace {

using Proto = onnx::TensorProto;

constexpr int kOpset = 13;
constexpr int kIrVersion = 7;  // the first one with that opset

Proto::DataType type_of(DType type) {
  switch (type) {
    case DType::i8:
      return Proto::INT8;
    case DType::u8:
      return Proto::UINT8;
    case DType::i32:
      return Proto::INT32;
    case DType::i64:
      return Proto::INT64;
    default:
      return Proto::FLOAT;
  }
}

void describe(onnx::ValueInfoProto& info, const std::string& name,
              std::span<const std::int64_t> extents) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(Proto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("batch");
  for (const std::int64_t extent : extents) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

GraphWriter::GraphWriter(const std::string& name) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("nibble");
  model_.set_producer_version(kVersion);
  model_.add_opset_import()->set_version(kOpset);
  graph().set_name(name);
}

void GraphWriter::set_input(const std::string& name, std::span<const std::int64_t> extents) {
  describe(*graph().add_input(), name, extents);
}

void GraphWriter::set_output(const std::string& name, std::span<const std::int64_t> extents) {
  describe(*graph().add_output(), name, extents);
}

std::string GraphWriter::add(const std::string& op, const std::vector<std::string>& inputs,
                             const std::string& output) {
  auto& node = *graph().add_node();
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string& each : inputs) node.add_input(each);
  node.add_output(output);
  return output;
}

void GraphWriter::with(const std::string& name, std::int64_t value) {
  auto& attribute = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void GraphWriter::with(const std::string& name, std::span<const std::int64_t> values) {
  auto& attribute = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t each : values) attribute.add_ints(each);
}

std::string GraphWriter::store(const std::string& name, ConstTensorView tensor) {
  auto& proto = *graph().add_initializer();
  proto.set_name(name);
  proto.set_data_type(type_of(tensor.dtype()));
  for (const std::int64_t extent : tensor.shape().extents()) proto.add_dims(extent);
  proto.set_raw_data(tensor.data(), tensor.bytes());
  return name;
}

std::string GraphWriter::store(const std::string& name, std::span<const std::int64_t> list) {
  return store(name, view_of(list));
}

std::string GraphWriter::store(const std::string& name, float number) {
  return store(name, ConstTensorView(reinterpret_cast<const std::byte*>(&number), DType::f32, {}));
}

void GraphWriter::write(const std::filesystem::path& path) const {
  std::string bytes;
  if (!model_.SerializeToString(&bytes)) {
    throw Error("write_onnx", path.string() + ": more than the 2 GiB that a message may have",
                ErrorKind::limit);
  }
  AtomicFile file(path);
  file.stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.commit();
}

}  // namespace nibble::inline foreign
