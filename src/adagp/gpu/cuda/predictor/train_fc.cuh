#pragma once
// predictor_train: fc's gradient added up from its slots, and fc's step. Device code of a launch
// that train_steps.cu shares out.

#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/optim/rules.cuh"
#include "adagp/gpu/cuda/predictor/train_line.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"
#include "adagp/gpu/cuda/predictor/vec4.cuh"

namespace adagp::cuda::train_fc {

constexpr int kThreads = 512, kQuads = 2;  // of weights, of a thread
constexpr int kTile = kProductCols * kFeatures;
constexpr int kBlocksOfTile = kTile / (4 * kQuads * kThreads);
constexpr int kRowsOfQuad = 4 * kThreads / kFeatures;

struct FcArgs {
  ParamSlot weight, bias;
  uint16_t* low;
  bool quads;
  int widest;
  TrainShape shape;
  TrainSpace space;
  Rule rule;
  const float *lr, *scale;
};

inline FcArgs args_of(const TrainArgs& args, const TrainPlan& plan) {
  FcArgs fc{};
  fc.weight = args.fc_weight;
  fc.weight.weight = args.net.fc_weight;
  fc.bias = args.fc_bias;
  fc.bias.weight = args.net.fc_bias;
  fc.low = static_cast<uint16_t*>(args.net.fc_low);
  fc.quads = allows_quads(fc.weight.weight, 4) && allows_quads(fc.weight.first, 4) &&
             allows_quads(fc.weight.second, 4) && allows_quads(fc.low, 2);
  fc.widest = static_cast<int>(args.net.widest);
  fc.shape = plan.shape;
  fc.space = plan.space;
  fc.rule = rule_of(args.rule);
  fc.lr = args.rule.lr;
  fc.scale = args.rule.scale;
  return fc;
}
inline int64_t blocks_of(const TrainPlan& plan) {
  return static_cast<int64_t>(plan.shape.fc_tiles) * kBlocksOfTile;
}

// What all weights of an array have in common.
struct Factors {
  float lr, scale;
  Corrections corrections;
};
__device__ inline Factors factors_of(const FcArgs& args, const ParamSlot& slot) {
  Factors out{*args.lr, args.scale != nullptr ? *args.scale : 1.0F, {}};
  if (args.rule.kind != UpdateRule::Kind::kSgd) {
    out.corrections = corrections_after(args.rule, *slot.steps);
  }
  return out;
}

// kCount parameters in registers, their step, and back.
template <int kCount>
struct Values {
  float weight[kCount], first[kCount] = {}, second[kCount] = {};

  __device__ void step(const Rule& rule, const Factors& factors, const ParamSlot& slot,
                       const float (&gradient)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      apply_rule(rule, factors.lr, slot.decay, slot.first != nullptr, factors.corrections,
                 factors.scale * gradient[i], weight[i], first[i], second[i]);
    }
  }
};

__device__ inline void step_bias(const FcArgs& args, int at, float gradient) {
  const ParamSlot& slot = args.bias;
  Values<1> values;
  values.weight[0] = slot.weight[at];
  if (slot.first != nullptr) values.first[0] = slot.first[at];
  if (slot.second != nullptr) values.second[0] = slot.second[at];
  values.step(args.rule, factors_of(args, slot), slot, {gradient});
  slot.weight[at] = values.weight[0];
  if (slot.first != nullptr) slot.first[at] = values.first[0];
  if (slot.second != nullptr) slot.second[at] = values.second[0];
}

// A part of a tile; its weights are on their way while the products end.
template <typename Table>
__device__ inline void step_block(const Table& table, const FcArgs& args, int block) {
  const int tile = block / kBlocksOfTile, part = block % kBlocksOfTile;
  const int tid = static_cast<int>(threadIdx.x), inside = 4 * (part * kQuads * kThreads + tid);
  const int col = tile * kProductCols + inside / kFeatures;
  const int64_t at = static_cast<int64_t>(col) * kFeatures + inside % kFeatures;
  const ParamSlot& weights = args.weight;
  const bool quads = args.quads;
  const auto valid = [&](int q) { return col + q * kRowsOfQuad < args.widest; };
  Values<4> values[kQuads];
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    if (!valid(q)) continue;
    const int64_t own = at + q * 4 * kThreads;
    load_quad(values[q].weight, weights.weight + own, 4, quads);
    if (weights.first != nullptr) load_quad(values[q].first, weights.first + own, 4, quads);
    if (weights.second != nullptr) load_quad(values[q].second, weights.second + own, 4, quads);
  }
  const Runs& runs = args.shape.products;
  const int line_begin = line_before(table, tile), line_end = line_before(table, tile + 1);
  // None where no layer is as wide: gradient 0.
  const int slots = line_begin < line_end ? runs.blocks_of(line_begin, line_end) : 0;
  const int64_t slot = static_cast<int64_t>(runs.block_at(line_begin)) + tile;
  const Factors factors = factors_of(args, weights);
  wait_for_before();

  const auto* from = reinterpret_cast<const uint2*>(args.space.weights + slot * kTile + inside);
  float sums[kQuads][4] = {};
#pragma unroll 4
  for (int s = 0; s < slots; ++s) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const uint2 more = from[s * (kTile / 4) + q * kThreads];
      sums[q][0] += first_low(more.x), sums[q][1] += second_low(more.x);
      sums[q][2] += first_low(more.y), sums[q][3] += second_low(more.y);
    }
  }
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    if (!valid(q)) continue;
    const int64_t own = at + q * 4 * kThreads;
    values[q].step(args.rule, factors, weights, sums[q]);
    store_quad(weights.weight + own, values[q].weight, 4, quads);
    if (weights.first != nullptr) store_quad(weights.first + own, values[q].first, 4, quads);
    if (weights.second != nullptr) store_quad(weights.second + own, values[q].second, 4, quads);
    store_low_quad(args.low + own, values[q].weight, 4, quads);
  }

  const int output = tile * kProductCols + tid;
  if (part != 0 || tid >= kProductCols || output >= args.widest) return;
  float gradient = 0;
  for (int s = 0; s < slots; ++s) {
    gradient += args.space.biases[(slot + s) * kProductCols + tid];
  }
  step_bias(args, output, gradient);
}

// By fc's last block: all have read the counts.
__device__ inline void finish(const FcArgs& args) {
  if (threadIdx.x != 0 || args.rule.kind == UpdateRule::Kind::kSgd) return;
  count_step(args.weight.steps);
  count_step(args.bias.steps);
}

}  // namespace adagp::cuda::train_fc
