#pragma once
// The operations of an exported graph as rows of a layer table, for one way of dividing the sizes
// by the batch. Torch-free.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/sim/layers/exported_graph.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {

class RowReader {
 public:
  RowReader(const Graph& graph, int64_t batch) : graph_(graph), batch_(batch) {}

  // Appends the rows of an operation, or names it among the uncounted. Throws DataError for sizes
  // beyond 64 bits and for more rows than a table can have.
  void read(const Node& node);

  std::vector<Row> rows;
  std::vector<Uncounted> uncounted;
  // The first product of activations that the batch does not divide; "" when there is none.
  std::string undivided;
  // Whether a convolution or recurrent layer takes its input without a batch dimension.
  bool unbatched = false;

 private:
  struct Sizes {
    int64_t m = 1, k = 1, n = 1, groups = 1;
  };
  // An operand of an einsum: a letter per dimension.
  struct Operand {
    std::string letters;
    const Value* value = nullptr;  // null: the product of two others
  };

  const Value& value(const std::string& name) const { return graph_.values.at(name); }
  const Value* operand(const Node& node, const std::string& name) const;
  const Value& result(const Node& node) const { return value(node.outputs.at(0)); }
  // A part of `count` belongs to one example; what the batch does not divide is shared by all.
  int64_t per_example(int64_t count) const { return count % batch_ == 0 ? count / batch_ : count; }
  // C, H, W of one example; features, 1, positions of anything but maps.
  std::array<int64_t, 3> shape(const Value& v) const;
  // The name of a weight layer's row: its path, or that of the part of it that is used.
  std::string layer_name(const Value& weight);
  void add(Row row);

  // Products that the batch does not divide, or that no example takes part in, run once a batch and
  // have no row.
  void once_a_batch(const Node& node, int64_t macs);
  void uncount(const Node& node, const std::string& op, std::optional<int64_t> macs);

  // Of an operation that has no row.
  std::optional<int64_t> known_macs(const Node& node) const;

  // Each is false when the operation has a form that has no row.
  bool convolution(const Node& node);
  bool linear(const Node& node);
  bool product(const Node& node);
  bool attention(const Node& node);
  bool einsum(const Node& node);
  bool recurrent(const Node& node);
  bool recurrent_cell(const Node& node);
  bool vector_row(const Node& node, const std::string& op);

  // `groups` matrices [in, out] of weights, each over `positions` of the whole batch.
  bool weight_product(const Node& node, const Value& weight, const Value* bias, const Sizes& sizes);
  // `groups` products of activations [m, k] x [k, n] in the whole batch.
  bool activation_product(const Node& node, Sizes sizes);
  bool pair(const Node& node, const Operand& left, const Operand& right, const std::string& kept,
            const std::map<char, int64_t>& sizes);
  // Whether an addition gives the linear layer just before its bias, as decomposed graphs have it.
  bool is_bias(const Node& node);

  const Graph& graph_;
  int64_t batch_;
  RowNames names_;
  std::map<std::pair<std::string, std::string>, size_t> uncounted_at_;
};

}  // namespace adagp::layers
