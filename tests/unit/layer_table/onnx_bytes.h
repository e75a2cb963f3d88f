#pragma once
// Small .onnx files, written byte by byte: the numbers of fields are those of onnx.proto.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "adagp/base/io/wire.h"

namespace adagp::testing {

using Shape = std::vector<int64_t>;  // -1: free, named "s<axis>"

inline std::string shape_message(const std::string& name, const Shape& shape) {
  io::WireWriter sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    io::WireWriter size;
    if (shape[i] == -1) {
      size.bytes(2, "s" + std::to_string(i));
    } else {
      size.varint(1, static_cast<uint64_t>(shape[i]));
    }
    sizes.bytes(1, size.str());
  }
  io::WireWriter tensor, type, out;
  tensor.varint(1, 1);
  tensor.bytes(2, sizes.str());
  type.bytes(1, tensor.str());
  out.bytes(1, name);
  out.bytes(2, type.str());
  return out.str();
}

// Of weights (float, without numbers) or with `numbers` of sizes and axes (int64).
inline std::string tensor_message(const std::string& name, const Shape& shape,
                                  const std::vector<int64_t>* numbers = nullptr) {
  io::WireWriter out;
  for (const int64_t size : shape) out.varint(1, static_cast<uint64_t>(size));
  out.varint(2, numbers == nullptr ? 1 : 7);
  out.bytes(8, name);
  if (numbers != nullptr) {
    io::WireWriter raw;
    for (const int64_t number : *numbers) raw.append(number);
    out.bytes(9, raw.str());
  }
  return out.str();
}

struct OnnxAttributes {
  std::vector<std::string> messages;

  OnnxAttributes& integers(const std::string& name, const std::vector<int64_t>& values) {
    io::WireWriter out;
    out.bytes(1, name);
    for (const int64_t value : values) out.varint(8, static_cast<uint64_t>(value));
    return add(out);
  }
  OnnxAttributes& integer(const std::string& name, int64_t value) {
    io::WireWriter out;
    out.bytes(1, name);
    out.varint(3, static_cast<uint64_t>(value));
    return add(out);
  }
  OnnxAttributes& text(const std::string& name, const std::string& value) {
    io::WireWriter out;
    out.bytes(1, name);
    out.bytes(4, value);
    return add(out);
  }
  OnnxAttributes& graph(const std::string& name, const std::string& message) {
    io::WireWriter out;
    out.bytes(1, name);
    out.bytes(6, message);
    return add(out);
  }
  OnnxAttributes& reference(const std::string& name, const std::string& outer) {
    io::WireWriter out;
    out.bytes(1, name);
    out.bytes(21, outer);
    return add(out);
  }

 private:
  OnnxAttributes& add(const io::WireWriter& out) {
    messages.push_back(out.str());
    return *this;
  }
};

inline std::string node_message(const std::string& op, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs,
                                const OnnxAttributes& attributes = {}, const std::string& name = "",
                                const std::string& domain = "") {
  io::WireWriter out;
  for (const std::string& input : inputs) out.bytes(1, input);
  for (const std::string& output : outputs) out.bytes(2, output);
  out.bytes(3, name);
  out.bytes(4, op);
  for (const std::string& attribute : attributes.messages) out.bytes(5, attribute);
  out.bytes(7, domain);
  return out.str();
}

// A file under construction; each call adds one part.
class OnnxBytes {
 public:
  OnnxBytes& input(const std::string& name, const Shape& shape) {
    return part(11, shape_message(name, shape));
  }
  OnnxBytes& output(const std::string& name, const Shape& shape = {}) {
    return part(12, shape.empty() ? named(name) : shape_message(name, shape));
  }
  OnnxBytes& says(const std::string& name, const Shape& shape) {
    return part(13, shape_message(name, shape));
  }
  OnnxBytes& weight(const std::string& name, const Shape& shape) {
    return part(5, tensor_message(name, shape));
  }
  OnnxBytes& numbers(const std::string& name, const std::vector<int64_t>& values) {
    return part(5, tensor_message(name, {static_cast<int64_t>(values.size())}, &values));
  }
  OnnxBytes& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const OnnxAttributes& attributes = {},
                  const std::string& name = "", const std::string& domain = "") {
    return part(1, node_message(op, inputs, outputs, attributes, name, domain));
  }
  OnnxBytes& part(uint32_t field, const std::string& message) {
    graph_.bytes(field, message);
    return *this;
  }
  OnnxBytes& function(const std::string& message) {
    functions_.push_back(message);
    return *this;
  }

  const std::string& graph() const { return graph_.str(); }
  std::string file() const {
    io::WireWriter model;
    model.varint(1, 8);
    model.bytes(7, graph_.str());
    for (const std::string& one : functions_) model.bytes(25, one);
    return model.str();
  }

 private:
  static std::string named(const std::string& name) {
    io::WireWriter out;
    out.bytes(1, name);
    return out.str();
  }

  io::WireWriter graph_;
  std::vector<std::string> functions_;
};

}  // namespace adagp::testing
