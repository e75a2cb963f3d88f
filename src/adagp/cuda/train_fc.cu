// predictor_train: fc's gradient added up from its slots, and fc's step.

#include "adagp/cuda/launch.cuh"
#include "adagp/cuda/quads.cuh"
#include "adagp/cuda/rules.cuh"
#include "adagp/cuda/train_plan.h"

namespace adagp::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = kProductRows * kFeatures;
constexpr int kBlocksOfTile = kTile / (4 * kThreads);

struct FcArgs {
  ParamSlot weight, bias;
  uint16_t* low;
  bool quads;
  int widest, segments;
  TrainSpace space;
  Rule rule;
  const float *lr, *scale;
};

struct StepFactors {
  float lr, decay;
  bool has_first;
  Corrections corrections;
};
__device__ inline StepFactors factors_of(const FcArgs& args, const ParamSlot& slot) {
  StepFactors factors{*args.lr, slot.decay, slot.first != nullptr, {}};
  if (args.rule.kind != UpdateRule::Kind::kSgd) {
    factors.corrections = corrections_after(args.rule, *slot.steps);
  }
  return factors;
}

// Four weights of one output.
__device__ inline void step_weights(const FcArgs& args, int64_t at, const float (&gradient)[4],
                                    float scale) {
  const ParamSlot& slot = args.weight;
  const StepFactors f = factors_of(args, slot);
  const bool quads = args.quads;
  float weight[4], first[4] = {}, second[4] = {};
  load_quad(weight, slot.weight + at, 4, quads);
  if (slot.first != nullptr) load_quad(first, slot.first + at, 4, quads);
  if (slot.second != nullptr) load_quad(second, slot.second + at, 4, quads);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    apply_rule(args.rule, f.lr, f.decay, f.has_first, f.corrections, scale * gradient[i], weight[i],
               first[i], second[i]);
  }
  store_quad(slot.weight + at, weight, 4, quads);
  if (slot.first != nullptr) store_quad(slot.first + at, first, 4, quads);
  if (slot.second != nullptr) store_quad(slot.second + at, second, 4, quads);
  store_low_quad(args.low + at, weight, 4, quads);
}

__device__ inline void step_bias(const FcArgs& args, int at, float gradient, float scale) {
  const ParamSlot& slot = args.bias;
  const StepFactors f = factors_of(args, slot);
  float weight = slot.weight[at];
  float first = slot.first != nullptr ? slot.first[at] : 0.0F;
  float second = slot.second != nullptr ? slot.second[at] : 0.0F;
  apply_rule(args.rule, f.lr, f.decay, f.has_first, f.corrections, scale * gradient, weight, first,
             second);
  slot.weight[at] = weight;
  if (slot.first != nullptr) slot.first[at] = first;
  if (slot.second != nullptr) slot.second[at] = second;
}

__global__ void __launch_bounds__(kThreads) fc_kernel(const __grid_constant__ FcArgs args) {
  const int tile = static_cast<int>(blockIdx.x) / kBlocksOfTile;
  const int part = static_cast<int>(blockIdx.x) % kBlocksOfTile;
  const int tid = static_cast<int>(threadIdx.x), inside = 4 * (part * kThreads + tid);
  const int col = tile * kProductRows + inside / kFeatures;
  const int segments = args.space.segments[tile];  // none where no layer is as wide: gradient 0
  const int64_t slot = static_cast<int64_t>(tile) * args.segments;
  const float scale = args.scale != nullptr ? *args.scale : 1.0F;

  if (col < args.widest) {
    const auto* from = reinterpret_cast<const float4*>(args.space.weights + slot * kTile + inside);
    float gradient[4] = {};
#pragma unroll 4
    for (int s = 0; s < segments; ++s) {
      const float4 more = from[s * (kTile / 4)];
      gradient[0] += more.x, gradient[1] += more.y, gradient[2] += more.z, gradient[3] += more.w;
    }
    step_weights(args, static_cast<int64_t>(col) * kFeatures + inside % kFeatures, gradient, scale);
  }

  const int output = tile * kProductRows + tid;
  if (part != 0 || tid >= kProductRows || output >= args.widest) return;
  float gradient = 0;
  for (int s = 0; s < segments; ++s) {
    gradient += args.space.biases[(slot + s) * kProductRows + tid];
  }
  step_bias(args, output, gradient, scale);
}

}  // namespace

void train_fc(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  FcArgs fc{};
  fc.weight = args.fc_weight;
  fc.weight.weight = args.net.fc_weight;
  fc.bias = args.fc_bias;
  fc.bias.weight = args.net.fc_bias;
  fc.low = static_cast<uint16_t*>(args.net.fc_low);
  fc.quads = allows_quads(fc.weight.weight, 4) && allows_quads(fc.weight.first, 4) &&
             allows_quads(fc.weight.second, 4) && allows_quads(fc.low, 2);
  fc.widest = static_cast<int>(args.net.widest);
  fc.segments = plan.shape.segments;
  fc.space = plan.space;
  fc.rule = rule_of(args.rule);
  fc.lr = args.rule.lr;
  fc.scale = args.rule.scale;
  launch(fc_kernel, static_cast<int64_t>(plan.shape.fc_tiles) * kBlocksOfTile, kThreads, 0, stream,
         "predictor_train: fc", fc);
}

}  // namespace adagp::cuda
