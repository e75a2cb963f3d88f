#include "adagp/sim/layers/table_gpt.h"

#include "adagp/base/core/text.h"

namespace adagp::layers {
namespace {

// Rows one after the other; a vector operation is named after the weight layer before it.
class GptRows {
 public:
  GptRows(Table& table, const GptSizes& sizes) : table_(table), sizes_(sizes) {}

  void linear(const std::string& name, int64_t outputs, bool bias = true) {
    last_ = name;
    const int64_t inputs = table_.rows.back().output[0];
    add(name, "linear", inputs, outputs, 1).bias = bias ? outputs : 0;
  }
  void matmul(const std::string& suffix, int64_t inputs, int64_t outputs) {
    add(last_ + "/" + suffix, "matmul", inputs, outputs, sizes_.heads);
  }
  Row& vector(const std::string& op) {
    const int64_t channels = table_.rows.empty() ? 1 : table_.rows.back().output[0];
    return add(last_ + "/" + op, op, channels, op == "embedding" ? sizes_.width : channels, 1);
  }
  void layer_norm() {
    Row& row = vector("layer_norm");
    row.weights = row.bias = sizes_.width;
  }

 private:
  Row& add(const std::string& name, const std::string& op, int64_t inputs, int64_t outputs,
           int64_t groups) {
    Row row;
    row.name = name;
    row.op = op;
    row.input = {inputs, 1, sizes_.tokens};
    row.output = {outputs, 1, sizes_.tokens};
    row.groups = groups;
    complete(row);
    table_.rows.push_back(row);
    return table_.rows.back();
  }

  Table& table_;
  const GptSizes& sizes_;
  std::string last_ = "input";
};

}  // namespace

const std::vector<GptSizes>& gpt_sizes() {
  constexpr int64_t kWords = 50257;
  static const std::vector<GptSizes> sizes = {{"gpt2", 12, 768, 12, 1024, kWords},
                                              {"gpt2_medium", 24, 1024, 16, 1024, kWords},
                                              {"gpt2_large", 36, 1280, 20, 1024, kWords},
                                              {"gpt2_xl", 48, 1600, 25, 1024, kWords},
                                              {"gpt3", 96, 12288, 96, 2048, kWords}};
  return sizes;
}

std::string gpt_input(const GptSizes& sizes) {
  return core::cat("tokens", sizes.tokens);
}

Table gpt_table(const GptSizes& sizes) {
  Table table{sizes.name, gpt_input(sizes), {}};
  GptRows rows(table, sizes);
  // The words' part of the embedding counts at the output layer, which shares it.
  rows.vector("embedding").weights = sizes.tokens * sizes.width;
  rows.vector("add");
  rows.layer_norm();
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string block = core::cat("h.", i, ".");
    rows.linear(block + "attn.c_attn", 3 * sizes.width);
    rows.matmul("matmul", sizes.width, sizes.tokens * sizes.heads);
    rows.vector("softmax");
    rows.matmul("matmul2", sizes.tokens * sizes.heads, sizes.width);
    rows.linear(block + "attn.c_proj", sizes.width);
    rows.vector("add");
    rows.layer_norm();
    rows.linear(block + "mlp.c_fc", 4 * sizes.width);
    rows.vector("activation");
    rows.linear(block + "mlp.c_proj", sizes.width);
    rows.vector("add");
    rows.layer_norm();  // of the next block, and the one after the last
  }
  rows.linear("lm_head", sizes.words, false);
  return table;
}

}  // namespace adagp::layers
