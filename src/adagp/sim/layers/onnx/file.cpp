// The messages of onnx.proto; numbers of fields are its own.
#include "adagp/sim/layers/onnx/file.h"

#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/wire_reader.h"
#include "adagp/sim/layers/onnx/names.h"
#include "adagp/sim/layers/onnx/tensor.h"

namespace adagp::layers {
namespace {

using io::WireField;
using io::WireReader;

constexpr int64_t kMostParts = 4'000'000;  // some 20 of an operation
constexpr size_t kLarge = 1 << 16;         // bytes of a tensor

// Reads one file; counts what it has, so that a small file cannot take all memory.
class FileReader {
 public:
  explicit FileReader(const std::function<void()>& jumped) : jumped_(jumped) {}

  OnnxModel model(std::string_view bytes);

 private:
  // All fields of a message, each of which counts.
  template <typename Take>
  void each(std::string_view message, const Take& take) {
    WireReader reader(message);
    WireField field;
    while (reader.next(field)) {
      if (++parts_ > kMostParts) {
        throw DataError(core::cat("has more than ", kMostParts,
                                  " nodes, names and numbers, expected a network's"));
      }
      take(field);
    }
  }
  static std::string text(const WireField& field) {
    if (field.bytes.size() > kLongestText) {
      throw DataError(core::cat("has a name of ", field.bytes.size(), " bytes, expected at most ",
                                kLongestText));
    }
    return std::string(field.bytes);
  }

  OnnxGraph graph(std::string_view message);
  OnnxNode node(std::string_view message);
  std::pair<std::string, OnnxAttribute> attribute(std::string_view message);
  OnnxTensor tensor(std::string_view message);
  OnnxTensor sparse(std::string_view message);
  OnnxShape shape(std::string_view message);
  std::vector<OnnxSize> sizes(std::string_view message);
  OnnxSize size(std::string_view message);
  std::pair<std::string, OnnxFunction> function(std::string_view message);
  std::pair<std::string, std::string> entry(std::string_view message);

  const std::function<void()>& jumped_;
  int64_t parts_ = 0;
  int depth_ = 0;
};

std::string full_name(const std::string& domain, const std::string& op) {
  return domain.empty() || domain == "ai.onnx" ? op : domain + "." + op;
}

std::pair<std::string, std::string> FileReader::entry(std::string_view message) {
  std::pair<std::string, std::string> out;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.first = text(field);
    // A long text is of a debugger's.
    if (field.number == 2 && field.bytes.size() <= kLongestText) out.second = field.bytes;
  });
  return out;
}

OnnxNode FileReader::node(std::string_view message) {
  OnnxNode out;
  std::string domain;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.inputs.push_back(text(field));
    if (field.number == 2) out.outputs.push_back(text(field));
    if (field.number == 3) out.name = text(field);
    if (field.number == 4) out.op = text(field);
    if (field.number == 5) out.attributes.insert(attribute(field.bytes));
    if (field.number == 7) domain = text(field);
    if (field.number != 9) return;
    if (const auto [key, value] = entry(field.bytes); key == "pkg.torch.onnx.name_scopes") {
      out.module = innermost_scope(value);
    }
  });
  out.op = full_name(domain, out.op);
  if (out.module.empty()) out.module = module_of(out.name);
  return out;
}

std::pair<std::string, OnnxAttribute> FileReader::attribute(std::string_view message) {
  std::pair<std::string, OnnxAttribute> out;
  OnnxAttribute& value = out.second;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.first = text(field);
    if (field.number == 2) value.real = static_cast<double>(field.real());
    if (field.number == 3) value.integer = field.integer();
    // Longer ones are programs of other tools.
    if (field.number == 4 && field.bytes.size() <= kLongestText) value.text = field.bytes;
    if (field.number == 5) value.tensor = tensor(field.bytes);
    if (field.number == 6) value.graph = std::make_shared<const OnnxGraph>(graph(field.bytes));
    if (field.number == 7) add_reals(field, value.reals);
    if (field.number == 8) io::add_integers(field, value.integers, kMostNumbers);
    if (field.number == 21) value.reference = text(field);
  });
  return out;
}

OnnxTensor FileReader::tensor(std::string_view message) {
  TensorFields fields;
  each(message, [&](const WireField& field) { fields.take(field); });
  if (message.size() > kLarge) jumped_();
  return fields.tensor();
}

// A tensor of which the file has some numbers: values, and the sizes of the whole.
OnnxTensor FileReader::sparse(std::string_view message) {
  OnnxTensor out;
  std::vector<int64_t> sizes;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out = tensor(field.bytes);
    if (field.number == 3) io::add_integers(field, sizes, kMostSizes);
  });
  out.sizes = checked_sizes(std::move(sizes), out.name);
  out.numbers.reset();
  return out;
}

OnnxSize FileReader::size(std::string_view message) {
  OnnxSize out;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.size = field.integer();
    if (field.number == 2) out.symbol = text(field);
  });
  // Old exporters write 0 or -1 for what they do not know.
  if (out.size && *out.size < -1) throw DataError("a tensor has a negative size");
  if (out.size && *out.size < 1) out.size.reset();
  return out;
}

std::vector<OnnxSize> FileReader::sizes(std::string_view message) {
  std::vector<OnnxSize> out;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.push_back(size(field.bytes));
    if (out.size() > kMostSizes) throw DataError("a tensor has too many sizes");
  });
  return out;
}

OnnxShape FileReader::shape(std::string_view message) {
  OnnxShape out;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.name = text(field);
    if (field.number != 2) return;
    each(field.bytes, [&](const WireField& type) {
      if (type.number != 1) return;  // a sequence, a map, ...
      each(type.bytes, [&](const WireField& part) {
        if (part.number == 2) out.sizes = sizes(part.bytes);
      });
    });
  });
  return out;
}

OnnxGraph FileReader::graph(std::string_view message) {
  if (++depth_ > kDeepestGraphs) {
    throw DataError(core::cat("graphs lie in each other more than ", kDeepestGraphs,
                              " times, expected the list of a network's operations"));
  }
  OnnxGraph out;
  each(message, [&](const WireField& field) {
    if (field.number == 1) out.nodes.push_back(node(field.bytes));
    if (field.number == 5) out.constants.push_back(tensor(field.bytes));
    if (field.number == 11) out.inputs.push_back(shape(field.bytes));
    if (field.number == 12) out.outputs.push_back(shape(field.bytes));
    if (field.number == 13) out.shapes.push_back(shape(field.bytes));
    if (field.number == 15) out.constants.push_back(sparse(field.bytes));
  });
  --depth_;
  return out;
}

std::pair<std::string, OnnxFunction> FileReader::function(std::string_view message) {
  OnnxFunction out;
  std::string name, domain;
  each(message, [&](const WireField& field) {
    if (field.number == 1) name = text(field);
    if (field.number == 4) out.inputs.push_back(text(field));
    if (field.number == 5) out.outputs.push_back(text(field));
    if (field.number == 7) out.nodes.push_back(node(field.bytes));
    if (field.number == 10) domain = text(field);
    if (field.number == 11) out.defaults.insert(attribute(field.bytes));
  });
  return {full_name(domain, name), std::move(out)};
}

OnnxModel FileReader::model(std::string_view bytes) {
  OnnxModel out;
  bool has_graph = false;
  each(bytes, [&](const WireField& field) {
    if (field.number == 7 && has_graph) throw DataError("has two graphs, expected one");
    if (field.number == 7) out.graph = graph(field.bytes);
    if (field.number == 25) out.functions.insert(function(field.bytes));
    has_graph = has_graph || field.number == 7;
  });
  if (!has_graph) throw DataError("has no graph");
  return out;
}

}  // namespace

std::string OnnxNode::label() const {
  const std::string& shown = !name.empty() ? name : outputs.empty() ? op : outputs[0];
  return op + " '" + shown + "'";
}

OnnxModel parse_onnx_model(std::string_view bytes, const std::function<void()>& jumped) {
  return FileReader(jumped).model(bytes);
}

}  // namespace adagp::layers
