// GP's whole update in one launch: predicted gradients of all layers, used where they are made.
//
// Bound by memory: weight and state are read and written once. They are asked for before the
// products begin and arrive while these are made.

#include <algorithm>

#include "adagp/cuda/blocks.cuh"
#include "adagp/cuda/fc_tile.cuh"
#include "adagp/cuda/launch.cuh"
#include "adagp/cuda/predictor.h"
#include "adagp/cuda/quads.cuh"
#include "adagp/cuda/rules.cuh"

namespace adagp::cuda {
namespace {

constexpr int kMostLayers = 128;  // of a launch: they travel in its arguments

struct Layer {
  float *weight, *first, *second, *steps;
  uint16_t* low;
  int first_row, rows, cols, id;
  float decay;
  bool quads;  // see quads.cuh
};

struct Table {
  Layer layer[kMostLayers];
  int offset[kMostLayers + 1];  // of each layer's first block
  int count;
  const uint16_t *features, *fc_low;
  const float *fc_bias, *scale, *lr, *clip;
  Rule rule;
};

// A lane's part of the tile: pointers to its first quad of a step, and where the others are.
struct Place {
  float *weight, *first, *second;
  uint16_t* low;
  int rows, cols;  // from the lane's first quad on: those inside the layer
  int stride;      // of eight rows

  __device__ int at(int i) const { return i / 2 * stride + i % 2 * 16; }
  __device__ int valid(int i) const { return i / 2 * 8 < rows ? cols - i % 2 * 16 : 0; }
};

__device__ inline Place place_of(const Layer& layer, const fc::Part& part, int row) {
  const fc::Quad quad = fc::quad_at(0);
  const int64_t at = static_cast<int64_t>(row + quad.row) * part.cols + part.col + quad.col;
  return {layer.weight + at, layer.first + at,           layer.second + at,
          layer.low + at,    part.rows - row - quad.row, part.cols - part.col - quad.col,
          8 * part.cols};
}

struct Factors {
  float lr, scale;
  Corrections corrections;
};

template <bool kAdam>
__device__ inline Factors factors_of(const Table& table, const Layer& layer) {
  Factors factors{*table.lr, table.scale[layer.id], {}};
  if (table.clip != nullptr) factors.scale *= *table.clip;
  if (kAdam) factors.corrections = corrections_after(table.rule, *layer.steps);
  return factors;
}

// One step of one block. kVector: see quads.cuh; layers without are small, and nothing is done to
// make them fast.
template <bool kAdam, bool kVector>
struct Step {
  const Table& table;
  const Layer& layer;
  const fc::Part& part;
  const float* bias;  // of the tile's columns, in shared memory
  float weight[fc::kQuads][4], first[fc::kQuads][4];

  __device__ void ask(int row) {
    if (!kVector) return;
    const Place place = place_of(layer, part, row);
#pragma unroll
    for (int i = 0; i < fc::kQuads; ++i) {
      const int at = place.at(i), valid = place.valid(i);
      load_quad(weight[i], place.weight + at, valid, true);
      if (kAdam && valid > 0) {  // registers do not suffice for its state
        prefetch(place.first + at);
        prefetch(place.second + at);
      } else if (layer.first != nullptr) {
        load_quad(first[i], place.first + at, valid, true);
      }
    }
  }

  __device__ void use(int row, const fc::Sums& sums) {
    const Factors factors = factors_of<kAdam>(table, layer);
    // Opaque, to have the addresses computed again: kept, they would push weights out of registers.
    asm volatile("" : "+r"(row));
    const Place place = place_of(layer, part, row);
#pragma unroll
    for (int i = 0; i < fc::kQuads; i += 2) {
      float second[2][4] = {};
#pragma unroll
      for (int j = i; j < i + 2; ++j) {
        const int at = place.at(j), valid = place.valid(j);
        if (!kVector) load_quad(weight[j], place.weight + at, valid, false);
        if (kAdam || (!kVector && layer.first != nullptr)) {
          load_quad(first[j], place.first + at, valid, kVector);
        }
        if (kAdam) load_quad(second[j - i], place.second + at, valid, kVector);
      }
#pragma unroll
      for (int j = i; j < i + 2; ++j) {
        if (place.valid(j) > 0) change(place, factors, j, sums, second[j - i]);
      }
    }
  }

  __device__ void change(const Place& place, const Factors& factors, int i, const fc::Sums& sums,
                         float (&second)[4]) {
    const int at = place.at(i), valid = place.valid(i);
    const bool has_first = layer.first != nullptr;
    float product[4];
    sums.quad(i, product);
    const float* added = bias + fc::quad_at(i).col;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float gradient = factors.scale * (product[j] + added[j]);
      if (kAdam) {
        apply_adam(table.rule, factors.lr, layer.decay, factors.corrections, gradient, weight[i][j],
                   first[i][j], second[j]);
      } else {
        apply_sgd(table.rule, factors.lr, layer.decay, has_first, gradient, weight[i][j],
                  first[i][j]);
      }
    }
    store_quad(place.weight + at, weight[i], valid, kVector);
    if (has_first) store_quad(place.first + at, first[i], valid, kVector);
    if (kAdam) store_quad(place.second + at, second, valid, kVector);
    if (layer.low != nullptr) store_low_quad(place.low + at, weight[i], valid, kVector);
  }
};

template <bool kAdam, bool kVector>
__device__ inline void update_part(const Table& table, const Layer& layer, const fc::Part& part) {
  // Seen by all after the barriers of for_steps().
  __shared__ __align__(16) float bias[fc::kTileCols];
  const int col = part.col + static_cast<int>(threadIdx.x);
  if (threadIdx.x < fc::kTileCols) bias[threadIdx.x] = col < part.cols ? table.fc_bias[col] : 0.0F;
  Step<kAdam, kVector> step{table, layer, part, bias, {}, {}};
  fc::for_steps(
      part, table.features + static_cast<int64_t>(layer.first_row) * kFeatures, table.fc_low,
      [&](int row) { step.ask(row); }, [&](int row, const fc::Sums& sums) { step.use(row, sums); });
}

// Two blocks on a multiprocessor: one reads while the other multiplies or writes.
template <bool kAdam>
__global__ void __launch_bounds__(fc::kThreads, 2)
    update_kernel(const __grid_constant__ Table table) {
  const int block = static_cast<int>(blockIdx.x);
  const int l = find_range(table.offset, table.count, block);
  const Layer& layer = table.layer[l];
  const fc::Part part = fc::part_of(block - table.offset[l], layer.rows, layer.cols);
  if (layer.quads) {
    update_part<kAdam, true>(table, layer, part);
  } else {
    update_part<kAdam, false>(table, layer, part);
  }
}

// After the update, because all its blocks read the counters.
__global__ void count_kernel(const __grid_constant__ Table table) {
  const int l = static_cast<int>(threadIdx.x);
  if (l < table.count) *table.layer[l].steps += 1.0F;
}

Layer layer_of(const PredictedLayer& from, int id, const float* fc_bias) {
  const ParamSlot& slot = from.slot;
  Layer to{};
  to.weight = slot.weight;
  to.first = slot.first;
  to.second = slot.second;
  to.steps = slot.steps;
  to.low = static_cast<uint16_t*>(slot.low);
  to.first_row = static_cast<int>(from.first_row);
  to.rows = static_cast<int>(from.rows);
  to.cols = static_cast<int>(from.cols);
  to.id = id;
  to.decay = slot.decay;
  to.quads = from.cols % 4 == 0 && allows_quads(slot.weight, 4) && allows_quads(slot.first, 4) &&
             allows_quads(slot.second, 4) && allows_quads(slot.low, 2) && allows_quads(fc_bias, 4);
  return to;
}

void launch_update(const Table& table, Stream stream) {
  const bool adam = table.rule.kind != UpdateRule::Kind::kSgd;
  launch(adam ? update_kernel<true> : update_kernel<false>, table.offset[table.count], fc::kThreads,
         fc::kSharedBytes, stream, "predict_update", table);
  if (adam) launch(count_kernel, 1, kMostLayers, 0, stream, "predict_update: steps", table);
}

}  // namespace

void predict_update(const PredictArgs& args, Stream stream) {
  Table table{};
  table.features = static_cast<const uint16_t*>(args.features);
  table.fc_low = static_cast<const uint16_t*>(args.net->fc_low);
  table.fc_bias = args.net->fc_bias;
  table.scale = args.net->scale;
  table.lr = args.rule.lr;
  table.clip = args.rule.scale;
  table.rule = rule_of(args.rule);
  for (int64_t begin = 0; begin < args.count; begin += kMostLayers) {
    table.count = static_cast<int>(std::min<int64_t>(kMostLayers, args.count - begin));
    for (int l = 0; l < table.count; ++l) {
      const PredictedLayer& layer = args.layers[begin + l];
      table.layer[l] = layer_of(layer, args.ids[begin + l], args.net->fc_bias);
      table.offset[l + 1] =
          table.offset[l] + static_cast<int>(fc::blocks_of(layer.rows, layer.cols));
    }
    launch_update(table, stream);
  }
}

}  // namespace adagp::cuda
