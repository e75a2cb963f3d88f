#pragma once
// The layer table: one row per operation of a network, in the order in which they run, for one
// input.
// Torch-free: the accelerator simulator reads it from CSV.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace adagp::layers {

// Products, which have MACs:
//   "conv2d", "linear"  with weights
//   "matmul"  of two activations, inside attention: in each of `groups` heads [M, K] x [K, N];
//             input {K * heads, 1, M}, output {N * heads, 1, M}, weights 0
// Vector operations, macs 0; `weights` and `bias` where they have parameters:
//   "batch_norm", "layer_norm", "softmax", "activation", "add", "pool", "concat", "embedding"
// Names are unique. A weight layer that is used again has a row for each use, the later ones named
// "name#2", "name#3"; a vector operation is named after the weight layer before it, "conv1/pool".
struct Row {
  std::string name;                // "layer1.0.conv2"
  std::string op;                  // see above
  std::array<int64_t, 3> input{};  // C, H, W of one example (linear: features, 1, positions)
  std::array<int64_t, 3> output{};
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};
  int64_t groups = 1;
  int64_t macs = 0;     // of one example
  int64_t weights = 0;  // without bias
  int64_t bias = 0;
  int64_t input_bytes = 0;  // of one example in fp32; both operands of matmul and add
  int64_t output_bytes = 0;
};

struct Table {
  std::string model;
  std::string input;  // "imagenet", "cifar", "64x64"
  std::vector<Row> rows;
};

bool is_product(const Row& row);
Table only_products(Table table);
// Whether this is the second or a later use of a weight layer ("name#2").
bool is_repeated(const Row& row);

// Fills macs, weights, input_bytes and output_bytes from the shapes. (A vector operation keeps its
// weights.) Throws DataError when a size does not fit into 64 bits.
void complete(Row& row);

int64_t total_macs(const Table& table);
// Of the products, each weight layer once.
int64_t total_weights(const Table& table);

std::string to_csv(const Table& table);
std::string to_json(const Table& table);
// Reads what to_csv wrote, and checks that names are unique, sizes and shapes agree and their sums
// fit into 64 bits. Takes a byte order mark and Windows line ends. Throws DataError with file name,
// line, column and rule.
Table from_csv(const std::string& text, const std::string& file_name);

}  // namespace adagp::layers
