// SPDX-License-Identifier: Apache-2.0
// Small ONNX graphs for tests, written node by node.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nibble/foreign/onnx.h"

namespace nibble::inline foreign {

// One node; its attributes are set by name.
class TestNode {
 public:
  explicit TestNode(onnx::NodeProto& proto) : proto_(proto) {}

  TestNode& with(const std::string& name, std::int64_t value) {
    auto& attribute = add(name, onnx::AttributeProto::INT);
    attribute.set_i(value);
    return *this;
  }
  TestNode& with(const std::string& name, float value) {
    add(name, onnx::AttributeProto::FLOAT).set_f(value);
    return *this;
  }
  TestNode& with(const std::string& name, const std::string& value) {
    add(name, onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }
  TestNode& with(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& attribute = add(name, onnx::AttributeProto::INTS);
    for (const std::int64_t each : values) attribute.add_ints(each);
    return *this;
  }
  onnx::NodeProto& proto() { return proto_; }

 private:
  onnx::AttributeProto& add(const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto& attribute = *proto_.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  onnx::NodeProto& proto_;
};

// An input "x", an output "y", opset 13.
class TestGraph {
 public:
  explicit TestGraph(const std::vector<std::int64_t>& input) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(13);
    auto& x = *graph().add_input();
    x.set_name("x");
    auto& type = *x.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : input) type.mutable_shape()->add_dim()->set_dim_value(extent);
    graph().add_output()->set_name("y");
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  onnx::TensorProto& floats(const std::string& name, const std::vector<std::int64_t>& extents,
                            const std::vector<float>& values) {
    auto& tensor = constant(name, extents, onnx::TensorProto::FLOAT);
    for (const float each : values) tensor.add_float_data(each);
    return tensor;
  }
  // 0, 1, 2, …
  onnx::TensorProto& counted(const std::string& name, const std::vector<std::int64_t>& extents) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    return floats(name, extents, values);
  }
  onnx::TensorProto& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& tensor =
        constant(name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const std::int64_t each : values) tensor.add_int64_data(each);
    return tensor;
  }

  TestNode node(const std::string& op, const std::vector<std::string>& inputs,
                const std::string& output) {
    auto& proto = *graph().add_node();
    proto.set_op_type(op);
    proto.set_name(op + "_" + output);
    for (const std::string& each : inputs) proto.add_input(each);
    proto.add_output(output);
    return TestNode(proto);
  }

  Model read() const {
    const std::string bytes = model.SerializeAsString();
    return parse_onnx(std::as_bytes(std::span(bytes)), "test");
  }

  onnx::ModelProto model;

 private:
  onnx::TensorProto& constant(const std::string& name, const std::vector<std::int64_t>& extents,
                              onnx::TensorProto::DataType type) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t each : extents) tensor.add_dims(each);
    return tensor;
  }
};

}  // namespace nibble::inline foreign
