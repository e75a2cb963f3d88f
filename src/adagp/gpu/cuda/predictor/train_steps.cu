// The last launch of predictor_train: fc's step (train_fc.cuh) and, beside it, the gradient of the
// convolution: the features' slots added up, back through pool and ReLU, and its step.

#include <algorithm>

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/launch.cuh"
#include "adagp/gpu/cuda/optim/rules.cuh"
#include "adagp/gpu/cuda/predictor/image.cuh"
#include "adagp/gpu/cuda/predictor/train_fc.cuh"
#include "adagp/gpu/cuda/predictor/train_plan.h"

namespace adagp::cuda {
namespace {

constexpr int kThreads = train_fc::kThreads, kWarps = kThreads / 32;
constexpr int kGroups = kThreads / (kConvParts / 4);  // of blocks, in the last sum

struct ConvArgs {
  const float* summaries;
  ParamSlot weight, bias;
  int blocks;
  float* loss;
  uint8_t* seen;
  Runs runs;
  TrainSpace space;
  Rule rule;
  const float *lr, *scale;
};

// Gradients of a channel's nine weights and its bias.
struct Gradients {
  float weight[9] = {}, bias = 0;
};

// The pooled features' gradients of the lane's half image: two rows of four pixels.
__device__ inline void add_slots(float (&to)[8], const uint16_t* slots, const TrainLayer& layer,
                                 const Runs& runs, int row, int lane) {
  const int count = layer.slots(runs, row);
#pragma unroll 2
  for (int i = 0; i < count; ++i) {
    const int64_t slot = layer.slot_row + static_cast<int64_t>(i) * layer.rows + row;
    const uint4 more = *reinterpret_cast<const uint4*>(slots + slot * kFeatures + 8 * lane);
    to[0] += first_low(more.x), to[1] += second_low(more.x);
    to[2] += first_low(more.y), to[3] += second_low(more.y);
    to[4] += first_low(more.z), to[5] += second_low(more.z);
    to[6] += first_low(more.w), to[7] += second_low(more.w);
  }
}

// Rows 4*half .. 4*half + 3 of the convolution's output.
__device__ inline void add_half(Gradients& sums, const float (&weight)[9], float bias,
                                const float* image, int half, const float (&pooled)[8]) {
  float lines[3][kImageSide];
  get_row(lines[0], image, 4 * half);
  get_row(lines[1], image, 4 * half + 1);
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    const float(&top)[kImageSide] = lines[y % 3];
    const float(&middle)[kImageSide] = lines[(y + 1) % 3];
    float(&bottom)[kImageSide] = lines[(y + 2) % 3];
    get_row(bottom, image, 4 * half + y + 2);
#pragma unroll
    for (int x = 0; x < kSummary; ++x) {
      const float output = convolve(weight, bias, top, middle, bottom, x);
      const float gradient = output <= 0 ? 0.0F : 0.25F * pooled[y / 2 * 4 + x / 2];
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        sums.weight[k] += gradient * top[x + k];
        sums.weight[3 + k] += gradient * middle[x + k];
        sums.weight[6 + k] += gradient * bottom[x + k];
      }
      sums.bias += gradient;
    }
  }
}

// The block's sums to its row of the workspace.
__device__ inline void store_parts(Gradients& sums, float* to) {
  __shared__ float parts[kWarps][kConvParts];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, channel = lane / 2;
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    sums.weight[k] += __shfl_xor_sync(kWholeWarp, sums.weight[k], 1);
    if (lane % 2 == 0) parts[tid / 32][channel * 9 + k] = sums.weight[k];
  }
  sums.bias += __shfl_xor_sync(kWholeWarp, sums.bias, 1);
  if (lane % 2 == 0) parts[tid / 32][kChannels * 9 + channel] = sums.bias;
  __syncthreads();
  if (tid >= kConvParts) return;
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += parts[warp][tid];
  to[tid] = sum;
}

__device__ inline void step_one(const ConvArgs& args, const ParamSlot& slot, int at,
                                float gradient) {
  float weight = slot.weight[at];
  float first = slot.first != nullptr ? slot.first[at] : 0.0F;
  float second = slot.second != nullptr ? slot.second[at] : 0.0F;
  Corrections corrections;
  if (args.rule.kind != UpdateRule::Kind::kSgd) {
    corrections = corrections_after(args.rule, *slot.steps);
  }
  if (args.scale != nullptr) gradient *= *args.scale;
  apply_rule(args.rule, *args.lr, slot.decay, slot.first != nullptr, corrections, gradient, weight,
             first, second);
  slot.weight[at] = weight;
  if (slot.first != nullptr) slot.first[at] = first;
  if (slot.second != nullptr) slot.second[at] = second;
}

// The convolution's last block: all its blocks' sums, its step, and the loss.
__device__ inline void finish(const ConvArgs& args) {
  __shared__ float4 parts[kGroups][kConvParts / 4];
  const int tid = static_cast<int>(threadIdx.x);
  const int group = tid / (kConvParts / 4), part = tid % (kConvParts / 4);
  if (group < kGroups) {
    float4 sum{};
    const auto* from = reinterpret_cast<const float4*>(args.space.conv) + part;
#pragma unroll 8
    for (int block = group; block < args.blocks; block += kGroups) {
      const float4 more = __ldcg(from + block * (kConvParts / 4));
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    parts[group][part] = sum;
  }
  __syncthreads();
  if (tid < kConvParts) {
    float sum = 0;
    const auto* own = reinterpret_cast<const float*>(parts) + tid;
    for (int g = 0; g < kGroups; ++g) sum += own[g * kConvParts];
    const bool of_weight = tid < kChannels * 9;
    step_one(args, of_weight ? args.weight : args.bias, of_weight ? tid : tid - kChannels * 9, sum);
  }
  double loss = 0;
  for (int i = tid; i < args.runs.blocks(); i += kThreads) {
    loss += static_cast<double>(args.space.losses[i]);
  }
  loss = block_sum<kThreads>(loss);
  if (tid != 0) return;
  *args.loss = static_cast<float>(loss);
  if (args.seen != nullptr) *args.seen = 1;
  if (args.rule.kind == UpdateRule::Kind::kSgd) return;
  count_step(args.weight.steps);
  count_step(args.bias.steps);
}

template <typename Table>
__device__ inline void add_block(const Table& table, const ConvArgs& args) {
  __shared__ __align__(16) float images[kWarps][kImageFloats];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int channel = lane / 2, half = lane % 2;
  float* image = images[warp];
  clear_image(image, lane);
  float weight[9];
#pragma unroll
  for (int k = 0; k < 9; ++k) weight[k] = args.weight.weight[9 * channel + k];
  const float bias = args.bias.weight[channel];
  wait_for_before();

  Gradients sums;
  const int rows = table.offset[table.count], stride = args.blocks * kWarps;
  for (int i = static_cast<int>(blockIdx.x) * kWarps + warp; i < rows; i += stride) {
    const int l = find_range(table.offset, table.count, i);
    const TrainLayer& layer = table.layer[l];
    const int row = i - table.offset[l];
    const auto* summary = reinterpret_cast<const float2*>(
        args.summaries + (static_cast<int64_t>(layer.first_row) + row) * kPixels);
    const float2 pixels = summary[lane];
    float pooled[8] = {};
    add_slots(pooled, args.space.inputs, layer, args.runs, row, lane);
    __syncwarp();  // all are done with the image before
    put_pixels(image, lane, pixels);
    __syncwarp();
    add_half(sums, weight, bias, image, half, pooled);
  }
  store_parts(sums, args.space.conv + static_cast<int64_t>(blockIdx.x) * kConvParts);
}

// The convolution's blocks first: they compute while the others wait for memory, and the last of
// them finishes before the others do.
template <typename Table>
__global__ void __launch_bounds__(kThreads, 2)
    steps_kernel(const __grid_constant__ Table table, const __grid_constant__ ConvArgs conv,
                 const __grid_constant__ train_fc::FcArgs fc) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < conv.blocks) {
    add_block(table, conv);
    if (last_block(conv.space.counters + 1, static_cast<uint32_t>(conv.blocks))) finish(conv);
  } else {
    train_fc::step_block(table, fc, block - conv.blocks);
    if (last_block(conv.space.counters + 2, gridDim.x - static_cast<uint32_t>(conv.blocks))) {
      train_fc::finish(fc);
    }
  }
}

ConvArgs conv_of(const TrainArgs& args, const TrainPlan& plan, int64_t blocks) {
  ConvArgs conv{};
  conv.blocks = static_cast<int>(blocks);
  conv.summaries = args.summaries;
  conv.weight = args.conv_weight;
  conv.weight.weight = args.net.conv_weight;
  conv.bias = args.conv_bias;
  conv.bias.weight = args.net.conv_bias;
  conv.loss = args.loss;
  conv.seen = args.seen;
  conv.runs = plan.shape.errors;
  conv.space = plan.space;
  conv.rule = rule_of(args.rule);
  conv.lr = args.rule.lr;
  conv.scale = args.rule.scale;
  return conv;
}

}  // namespace

void train_steps(const TrainArgs& args, TrainPlan& plan, Stream stream) {
  const int64_t rows =
      set_offsets(plan.table, [](const TrainLayer& layer) { return int64_t{layer.rows}; });
  const int64_t blocks = std::min<int64_t>(kConvBlocks, (rows + kWarps - 1) / kWarps);
  const ConvArgs conv = conv_of(args, plan, blocks);
  const train_fc::FcArgs fc = train_fc::args_of(args, plan);
  with_smallest(plan.table, [&]<typename Table>(const Table& table) {
    launch(Begin::kEarly, steps_kernel<Table>, blocks + train_fc::blocks_of(plan), kThreads, 0,
           stream, "predictor_train: steps", table, conv, fc);
  });
}

}  // namespace adagp::cuda
