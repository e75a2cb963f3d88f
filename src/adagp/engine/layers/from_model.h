#pragma once
// The only bridge from networks to layer tables: a shape-only forward pass with a recording tap.

#include <string>
#include <vector>

#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// Of one example.
struct InputSize {
  int64_t channels = 3, height = 224, width = 224;
  int64_t source = 0, target = 0;  // words of a translation; 0: images

  bool tokens() const { return source > 0; }
};
// "imagenet" (3 x image_size x image_size), "cifar" (3x32x32), "HxW" or "tokens:SRC,TGT". Throws
// UsageError.
InputSize parse_input(const std::string& text, int64_t image_size = 224);

// Inputs of one example for the network of this name, without memory. Throws UsageError for inputs
// of another task.
models::Tensors shape_inputs(const std::string& model_name, const std::string& input_name);

// The name of a weight layer in a layer table, before its uses are counted (table.h):
// "self_attn.in_proj" for the weight self_attn.in_proj_weight, the layer's path for a plain one.
std::string row_path(const nn::WeightLayer& layer);

enum class Operations { kProducts, kAll };

// Runs `net` (built in any way) on a meta tensor, in the mode it is in: in training auxiliary heads
// have rows too. Nothing is computed and nothing large allocated. A network of the registry has its
// own size of "imagenet" and refuses the inputs of another task (UsageError).
Table from_model(models::Net& net, const std::string& model_name, const std::string& input_name,
                 Operations operations = Operations::kProducts);

// The same with all operations, and the block that runs each row. Of a network that is no BlockNet
// all rows are block 0.
struct BlockTable {
  Table table;
  std::vector<int64_t> blocks;
};
BlockTable block_table(models::Net& net, const std::string& model_name,
                       const std::string& input_name);
// How many rows the blocks before `block` have.
int64_t rows_before(const std::vector<int64_t>& blocks_of_rows, int64_t block);

// What a GP step does with one parameter.
struct Coverage {
  std::string name;  // "layer1.0.conv1.weight"
  // "conv weight" | "linear weight" | "bias" | "norm" | "embedding" | "tied embedding" (also the
  // weight of an output layer) | "other"
  std::string kind;
  std::string treatment;  // "predicted" | "exact" | "frozen"
  int64_t parameters = 0;
};
// Every parameter of the net, each once. `head` is the option of that name: predicted, exact,
// frozen.
std::vector<Coverage> coverage(models::Net& net, const std::string& head);

}  // namespace adagp::layers
