// GP's whole update in one launch: predicted gradients of all layers, used where they are made.
//
// Bound by memory: weight and state are read and written once. They are asked for a step ahead and
// arrive while the step before is multiplied and written.

#include <algorithm>

#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/optim/rules.cuh"
#include "adagp/gpu/cuda/predictor/fc_walk.cuh"
#include "adagp/gpu/cuda/predictor/layer_table.h"
#include "adagp/gpu/cuda/predictor/predictor.h"
#include "adagp/gpu/cuda/predictor/vec4.cuh"

namespace adagp::cuda {
namespace {

constexpr int kMostLayers = 128;  // of a launch: they travel in its arguments
// Beside other work blocks are short, so that this gets its turn in between. (132 to 528 could not
// be told apart on an H200, 66 was slower.)
constexpr int64_t kBlocksBeside = 528;

struct Layer {
  float *weight, *first, *second, *steps;
  uint16_t* low;
  int first_row, rows, cols, id;
  float decay;
  bool quads;  // see vec4.cuh
};
using Table = LayerTable<Layer, kMostLayers>;

struct UpdateArgs {
  fc::Net net;
  const float *scale, *lr, *clip;
  Rule rule;
};

// A lane's part of a step: pointers to its first quad, and where the others are.
struct Place {
  float *weight, *first, *second;
  uint16_t* low;
  int rows, cols;  // from the lane's first quad on: those inside the layer
  int stride;      // of eight rows

  __device__ int at(int i) const {
    return i / fc::Tile::kGroups * stride + i % fc::Tile::kGroups * 16;
  }
  __device__ int valid(int i) const {
    return i / fc::Tile::kGroups * 8 < rows ? cols - i % fc::Tile::kGroups * 16 : 0;
  }
};

__device__ inline Place place_of(const Layer& layer, const fc::Step& step) {
  const fc::Quad quad = fc::quad_at(0);
  const int row = step.row + quad.row, col = step.col + quad.col;
  const int64_t at = static_cast<int64_t>(row) * layer.cols + col;
  return {layer.weight + at, layer.first + at, layer.second + at, layer.low + at,
          layer.rows - row,  layer.cols - col, 8 * layer.cols};
}

__device__ inline void get_quad(float (&to)[4], uint32_t place) {
  const uint4 all = load_shared_quad(place);
  to[0] = __uint_as_float(all.x), to[1] = __uint_as_float(all.y);
  to[2] = __uint_as_float(all.z), to[3] = __uint_as_float(all.w);
}

// What is done with every step. Layers without quads are small, and nothing is done to make them
// fast: they are read when they are used.
template <bool kAdam, typename Table>
struct Update {
  static constexpr int kArrays = 2;  // weight and first; shared memory does not suffice for second
  static constexpr int kWeight = 0, kFirst = 1;

  const Table& table;
  const UpdateArgs& args;
  float lr, clip;
  uint64_t policy;

  __device__ void ask(const fc::Step& step, uint32_t own) const {
    const Layer& layer = table.layer[step.layer];
    if (!layer.quads) return;
    const Place place = place_of(layer, step);
#pragma unroll
    for (int i = 0; i < fc::Tile::kQuads; ++i) {
      const bool valid = place.valid(i) > 0;
      const int at = valid ? place.at(i) : 0;
      const float* weight = valid ? place.weight + at : layer.weight;
      copy_async(fc::own_quad(own, kWeight, i), weight, valid, policy);
      if (layer.first != nullptr) {
        const float* first = valid ? place.first + at : layer.first;
        copy_async(fc::own_quad(own, kFirst, i), first, valid, policy);
      }
      if (kAdam && valid) prefetch(place.second + at);
    }
  }

  __device__ void use(const fc::Step& step, const fc::Sums& sums, const float* bias,
                      uint32_t own) const {
    const Layer& layer = table.layer[step.layer];
    const float scale = clip * args.scale[layer.id];
    if (layer.quads) {
      change_all<true>(layer, scale, step, sums, bias, own);
    } else {
      change_all<false>(layer, scale, step, sums, bias, own);
    }
  }

  template <bool kVector>
  __device__ void change_all(const Layer& layer, float scale, const fc::Step& step,
                             const fc::Sums& sums, const float* bias, uint32_t own) const {
    const Place place = place_of(layer, step);
    const bool has_first = layer.first != nullptr;
    Corrections corrections;
    if (kAdam) corrections = corrections_after(args.rule, *layer.steps);
#pragma unroll
    for (int i = 0; i < fc::Tile::kQuads; ++i) {
      const int at = place.at(i), valid = place.valid(i);
      if (valid <= 0) continue;
      float weight[4], first[4] = {}, second[4] = {}, product[4];
      if (kVector) {
        get_quad(weight, fc::own_quad(own, kWeight, i));
        if (has_first) get_quad(first, fc::own_quad(own, kFirst, i));
      } else {
        load_quad(weight, place.weight + at, valid, false);
        if (has_first) load_quad(first, place.first + at, valid, false);
      }
      if (kAdam) load_quad(second, place.second + at, valid, kVector);
      sums.quad(i, product);
      const float* added = bias + fc::quad_at(i).col;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float gradient = scale * (product[j] + added[j]);
        if (kAdam) {
          apply_adam(args.rule, lr, layer.decay, corrections, gradient, weight[j], first[j],
                     second[j]);
        } else {
          apply_sgd(args.rule, lr, layer.decay, has_first, gradient, weight[j], first[j]);
        }
      }
      store_quad(place.weight + at, weight, valid, kVector);
      if (has_first) store_quad(place.first + at, first, valid, kVector);
      if (kAdam) store_quad(place.second + at, second, valid, kVector);
      if (layer.low != nullptr) store_low_quad(place.low + at, weight, valid, kVector);
    }
  }
};

template <bool kAdam, typename Table>
__global__ void __launch_bounds__(fc::kThreads)
    update_kernel(const __grid_constant__ Table table, const __grid_constant__ UpdateArgs args) {
  const float clip = args.clip != nullptr ? *args.clip : 1.0F;
  Update<kAdam, Table> update{table, args, *args.lr, clip, read_once()};
  fc::for_steps(table, args.net, update);
}

// After the update, because all its blocks read the counters.
template <typename Table>
__global__ void count_kernel(const __grid_constant__ Table table) {
  const int l = static_cast<int>(threadIdx.x);
  if (l < table.count) *table.layer[l].steps += 1.0F;
}

Layer layer_of(const PredictedLayer& from, int id) {
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
             allows_quads(slot.second, 4) && allows_quads(slot.low, 2);
  return to;
}

template <bool kAdam>
void launch_update(const Table& table, const UpdateArgs& args, int64_t blocks, Begin begin,
                   Stream stream) {
  with_smallest(table, [&]<typename Small>(const Small& small) {
    launch(begin, update_kernel<kAdam, Small>, blocks, fc::kThreads, fc::Tile::shared_bytes(2),
           stream, "predict_update", small, args);
    if (kAdam) {
      launch(Begin::kAfter, count_kernel<Small>, 1, kMostLayers, 0, stream, "predict_update: steps",
             small);
    }
  });
}

void update_layers(const PredictArgs& args, const UpdateArgs& update, Stream stream) {
  const bool adam = args.rule.kind != UpdateRule::Kind::kSgd;
  for (int64_t first = 0; first < args.count; first += kMostLayers) {
    Table table;
    table.count = static_cast<int>(std::min<int64_t>(kMostLayers, args.count - first));
    for (int l = 0; l < table.count; ++l) {
      const PredictedLayer& layer = args.layers[first + l];
      table.layer[l] = layer_of(layer, args.ids[first + l]);
      table.offset[l + 1] =
          table.offset[l] + static_cast<int>(fc::steps_of(layer.rows, layer.cols));
    }
    const Begin begin = args.behind_features && first == 0 ? Begin::kEarly : Begin::kAfter;
    const int64_t blocks = args.beside ? std::min<int64_t>(table.total(), kBlocksBeside)
                                       : fc::blocks_of(table.total());
    (adam ? launch_update<true> : launch_update<false>)(table, update, blocks, begin, stream);
  }
}

}  // namespace

void predict_update(const PredictArgs& args, Stream stream) {
  const UpdateArgs update{{static_cast<const uint16_t*>(args.features),
                           static_cast<const uint16_t*>(args.net->fc_low), args.net->fc_bias},
                          args.net->scale,
                          args.rule.lr,
                          args.rule.scale,
                          rule_of(args.rule)};
  update_layers(args, update, stream);
}

}  // namespace adagp::cuda
