#pragma once
// A network's training step as a program of the machine. Torch-free.
//
// A layer is a matrix product Y[m, n] = X[m, k] W[k, n] (a convolution after im2col, of which the
// outside memory holds X). A BP batch runs, layer by layer, the forward product with its
// activation, then backward the input gradient, the weight gradient and the update. A GP batch runs
// the forward product and, for every layer, the predictor: a summary of Y, a convolution with ReLU
// and pooling, a dense layer to the gradient, and the update. An exact update measures the layer's
// gradient, whose size scales predicted ones. In BP batches the predictor learns: on the main array
// (layer_learning.cpp), or that of max beside the next layer (beside_learning.cpp) if its array has
// three modes; then comes its step (predictor_step.h).
//
// What it is for: the cycles and the transfers of a training step. Not in the program: batch norm,
// max pooling and the loss, for which the machine has no unit; biases; and what the outside memory
// would do between layers (im2col of stored activations, its inverse for gradients, scales of fixed
// point).

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {

// The engine's predictor (docs/method.md) for each channel: a map of kSide x kSide means, a 3x3
// convolution to kMaps maps, ReLU, means of 2x2, and a dense layer from kFeatures.
inline constexpr std::int64_t kSide = 8, kMaps = 16, kFeatures = kMaps * kSide * kSide / 4;
// How it lies in the memories. A row of the map is kSide cells and a 1, by which the convolution's
// bias is multiplied; there is a row of zeros above the map and one below. Three rows are the
// inputs of one row of outputs: the weights are a matrix with a row for each map and column. The
// features have a 1 behind them for the dense layer's bias. The order of features: row, map,
// column.
inline constexpr std::int64_t kMapRow = kSide + 1, kConvInputs = 3 * kMapRow,
                              kConvRows = kMaps * kSide, kDenseInputs = kFeatures + 1;

struct LayerProduct {
  std::string name;
  std::int64_t groups = 1;  // independent products of m x k x n each
  std::int64_t m = 0;       // batch * output pixels
  std::int64_t k = 0;       // inputs of one output
  std::int64_t n = 0;       // outputs of one group
  std::int64_t height = 1;  // of the output, which the pooling of the predictor reads
  std::int64_t width = 1;
  bool input_gradient = true;  // not of the first layer
};

struct Network {
  std::string name;
  std::int64_t batch = 1;
  std::vector<LayerProduct> layers;
};

struct NetworkProgram {
  Program program;
  // Descriptors up to the end of each layer's forward and backward part. The predictor's work of
  // design max lies in the part of the layer that comes after; the backward parts stand in reverse
  // order.
  std::vector<std::size_t> forward_end, backward_end;
  std::int64_t outside_beats = 0;  // that the transfers reach
};

// Throws UsageError naming the layer and the limit where a layer does not fit the machine's
// memories or the program its memory.
NetworkProgram make_program(const Machine& machine, const Network& network);

// Cycles of each layer's parts in a batch: the differences of what the model predicts for the
// program up to there. The start and the end of a batch belong to the first and the last part.
struct LayerCycles {
  std::vector<std::uint64_t> forward, backward;
};
LayerCycles layer_cycles(const Machine& machine, const NetworkProgram& program, Phase phase);

}  // namespace adagp::rtl
