#pragma once
// The layer table: one row per operation of a network, in the order in which they run, for one
// input.
// Torch-free: the accelerator simulator reads it from CSV.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace adagp::layers {

// Products, which have MACs:
//   "conv2d", "linear"  with weights; a linear layer may have groups too
//   "conv3d"  the same with a third axis, `depth`. A conv2d that sees several images of one example
//             is a conv3d whose kernel has the depth 1
//   "conv_transpose"  of one to three axes; MACs: input pixels x kernel
//   "matmul"  of two activations, inside attention: in each of `groups` heads [M, K] x [K, N];
//             input {K * heads, 1, M}, output {N * heads, 1, M}, weights 0
// Vector operations, macs 0; `weights` and `bias` where they have parameters:
//   "batch_norm", "layer_norm", "softmax", "activation", "add", "pool", "concat", "embedding"
// Names are unique. A weight layer that is used again has a row for each use, the later ones named
// "name#2", "name#3"; a vector operation is named after the weight layer before it, "conv1/pool".
struct Depth {  // the third axis of a convolution
  int64_t input = 1, output = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool operator==(const Depth&) const = default;
};
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
  std::array<int64_t, 2> dilation{1, 1};
  Depth depth;         // of conv3d and conv_transpose
  int64_t frozen = 0;  // 1: it runs forward alone, its parameters never move
  bool operator==(const Row&) const = default;
};

// Operations of an exported network that have no row.
struct Uncounted {
  std::string name;             // module path and operation: "features.3/deform_conv2d"
  std::string op;               // as torch names it
  std::optional<int64_t> macs;  // of one example, all `times` together; none: not known
  int64_t times = 1;
};

struct Table {
  std::string model;
  std::string input;  // "imagenet", "cifar", "64x64"
  std::vector<Row> rows;
  std::vector<Uncounted> uncounted{};
};

bool is_product(const Row& row);
bool is_convolution(const Row& row);
// Input or output pixels of one example.
int64_t pixels_in(const Row& row);
int64_t pixels_out(const Row& row);
Table only_products(Table table);
// Whether this is the second or a later use of a weight layer ("name#2").
bool is_repeated(const Row& row);

// Fills macs, weights, input_bytes and output_bytes from the shapes. (A vector operation keeps its
// weights.) Throws DataError when a size does not fit into 64 bits.
void complete(Row& row);

int64_t total_macs(const Table& table);

// What the rows leave out of the network's MACs.
struct Missing {
  int64_t macs = 0;     // of one example, as far as they are known
  int64_t unknown = 0;  // operations whose MACs are not known
  double share = 0;     // macs / (macs + those of the rows): the least that is missing
};
Missing missing(const Table& table);
// "3.1 % of the network's MACs are missing: a/bmm (12 MACs), b/fft (MACs unknown)"; "" when nothing
// is missing.
std::string missing_text(const Table& table);

// Of the products, each weight layer once.
int64_t total_weights(const Table& table);

std::string to_csv(const Table& table);
std::string to_json(const Table& table);
// Reads what to_csv wrote, also before it had the columns of depth, dilation and uncounted
// operations (they are written only where a table needs them), and checks that names are unique,
// sizes and shapes agree and their sums fit into 64 bits. Takes a byte order mark and Windows line
// ends. Throws DataError with file name, line, column and rule.
Table from_csv(const std::string& text, const std::string& file_name);

// Unique names for the rows of a layer table, in the order in which the operations run.
class RowNames {
 public:
  // Of one use of the weight layer `path`: "path", then "path#2", "path#3".
  std::string weight_layer(const std::string& path);
  // Of one use of a part of it: "path[0]", "path[1]" for the parts in the order in which they come.
  std::string weight_part(const std::string& path, const std::string& part);
  // Of an operation after it: "path/op", then "path/op2"; before the first weight layer
  // "input/op".
  std::string operation(const std::string& op);

 private:
  std::map<std::string, int> uses_;
  std::map<std::string, std::map<std::string, size_t>> parts_;  // path -> part -> its number
  std::string last_ = "input";
};

// A network's layer table at another image side.
struct SideTable {
  Table table;
  std::vector<int64_t> rows_before;  // rows before each block, in order
};

}  // namespace adagp::layers
