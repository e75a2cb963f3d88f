// All parameters in one launch: the kernel's arguments carry their addresses, and every block works
// on a chunk of one of them.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/optim/optim.h"
#include "adagp/gpu/cuda/optim/param_pack.cuh"
#include "adagp/gpu/cuda/optim/rules.cuh"

namespace adagp::cuda {
namespace {

using namespace slots;
using Kind = UpdateRule::Kind;

constexpr int kNormBlocks = 1024;  // the same everywhere: the order of a sum is part of its result

struct Steps {
  float* steps[kMost];
  int count;
};

struct Step {
  Rule rule;
  float lr, scale;
  Corrections corrections;
};

template <bool kAdam, typename Gradient, int W>
__device__ void update_at(const Packed& slot, const Step& step, int64_t i, Width<W> width) {
  float weight[W], gradient[W], first[W] = {}, second[W] = {};
  const bool has_first = kAdam || slot.first != nullptr;
  load(slot.weight + i, width, weight);
  load(static_cast<const Gradient*>(slot.gradient) + i, width, gradient);
  if (has_first) load(slot.first + i, width, first);
  if (kAdam) load(slot.second + i, width, second);
#pragma unroll
  for (int k = 0; k < W; ++k) {
    const float g = step.scale * gradient[k];
    if (kAdam) {
      apply_adam(step.rule, step.lr, slot.decay, step.corrections, g, weight[k], first[k],
                 second[k]);
    } else {
      apply_sgd(step.rule, step.lr, slot.decay, has_first, g, weight[k], first[k]);
    }
  }
  store(slot.weight + i, width, weight);
  if (has_first) store(slot.first + i, width, first);
  if (kAdam) store(slot.second + i, width, second);
  if (slot.low != nullptr) store(static_cast<Low*>(slot.low) + i, width, weight);
}

template <bool kAdam>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ Pack pack, const Rule rule, const float* lr,
                  const float* scale) {
  const Chunk chunk = chunk_at(pack, blockIdx.x);
  const Packed slot = pack.slot[chunk.slot];
  Step step{rule, *lr, scale == nullptr ? 1.0F : *scale, {}};
  if (kAdam) step.corrections = corrections_after(rule, *slot.steps);
  if (slot.low_gradient) {
    walk(chunk, slot.vectors,
         [&](int64_t i, auto width) { update_at<kAdam, Low>(slot, step, i, width); });
  } else {
    walk(chunk, slot.vectors,
         [&](int64_t i, auto width) { update_at<kAdam, float>(slot, step, i, width); });
  }
}

// A launch of its own behind the update: by then every block has read the old count.
__global__ void advance_kernel(const __grid_constant__ Steps steps) {
  if (static_cast<int>(threadIdx.x) < steps.count) *steps.steps[threadIdx.x] += 1.0F;
}

__global__ void __launch_bounds__(kThreads) refresh_kernel(const __grid_constant__ Pack pack) {
  const Chunk chunk = chunk_at(pack, blockIdx.x);
  const Packed slot = pack.slot[chunk.slot];
  walk(chunk, slot.vectors, [&](int64_t i, auto width) {
    float values[decltype(width)::value];
    load(slot.weight + i, width, values);
    store(static_cast<Low*>(slot.low) + i, width, values);
  });
}

struct Norm {
  unsigned* done;     // blocks
  double* total;      // of the launches so far
  double* partials;   // [kNormBlocks]
  bool begins, ends;  // the first launch, the last
  float max_norm;
  float *norm, *scale;
};

template <typename Gradient>
__device__ float squares_of(const Packed& slot, const Chunk& chunk) {
  float sum = 0;
  walk(chunk, slot.vectors, [&](int64_t i, auto width) {
    float values[decltype(width)::value];
    load(static_cast<const Gradient*>(slot.gradient) + i, width, values);
#pragma unroll
    for (const float value : values) sum += value * value;
  });
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    norm_kernel(const __grid_constant__ Pack pack, unsigned chunks, const Norm to) {
  double sum = 0;  // a thread has but 16 values of a chunk: those fp32 can add up
  for (unsigned c = blockIdx.x; c < chunks; c += gridDim.x) {
    const Chunk chunk = chunk_at(pack, c);
    const Packed slot = pack.slot[chunk.slot];
    sum += slot.low_gradient ? squares_of<Low>(slot, chunk) : squares_of<float>(slot, chunk);
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) to.partials[blockIdx.x] = sum;
  if (!last_block(to.done)) return;
  double all = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kThreads) all += __ldcg(to.partials + b);
  all = block_sum<kThreads>(all);
  if (threadIdx.x != 0) return;
  if (!to.begins) all += *to.total;
  *to.total = all;
  if (!to.ends) return;
  const double norm = sqrt(all), factor = to.max_norm / (norm + 1e-6);
  *to.norm = static_cast<float>(norm);
  *to.scale = static_cast<float>(factor > 1 ? 1.0 : factor);  // NaN stays NaN
}

void check_slots(const ParamSlot* slots, int64_t count, bool adam) {
  for (int64_t i = 0; i < count; ++i) {
    const ParamSlot& slot = slots[i];
    const bool whole = slot.weight != nullptr && slot.gradient != nullptr;
    const bool state = slot.first != nullptr && slot.second != nullptr && slot.steps != nullptr;
    if (slot.count == 0 || (whole && (!adam || state))) continue;
    throw Error(core::cat("update: parameter ", i, " of ", count,
                          whole ? " has no state of Adam" : " has no weight or no gradient"));
  }
}

void advance(const Pack& pack, const ParamSlot* slots, cudaStream_t stream) {
  Steps steps{};
  for (int i = 0; i < pack.count; ++i) {
    if (slots[i].steps != nullptr) steps.steps[steps.count++] = slots[i].steps;
  }
  advance_kernel<<<1, kMost, 0, stream>>>(steps);
  check_launch("update");
}

}  // namespace

void update(const ParamSlot* slots, int64_t count, const UpdateRule& rule, Stream stream_) {
  const auto stream = static_cast<cudaStream_t>(stream_);
  const bool adam = rule.kind != Kind::kSgd;
  check_slots(slots, count, adam);
  const auto kernel = adam ? update_kernel<true> : update_kernel<false>;
  for (const Pack& pack : packs_of(slots, count, [](const ParamSlot&) { return true; })) {
    if (const unsigned chunks = pack.chunks()) {
      kernel<<<chunks, kThreads, 0, stream>>>(pack, rule_of(rule), rule.lr, rule.scale);
      check_launch("update");
    }
    if (adam) advance(pack, slots, stream);
    slots += pack.count;
  }
}

void refresh_bf16_copies(const ParamSlot* slots, int64_t count, Stream stream) {
  const auto has_copy = [](const ParamSlot& slot) { return slot.low != nullptr; };
  for (const Pack& pack : packs_of(slots, count, has_copy)) {
    if (pack.chunks() == 0) continue;
    refresh_kernel<<<pack.chunks(), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(pack);
    check_launch("refresh_bf16_copies");
  }
}

int64_t clip_workspace() {
  return 16 + kNormBlocks * static_cast<int64_t>(sizeof(double));
}

void clip_scale(const ParamSlot* slots, int64_t count, const ClipArgs& args, Stream stream) {
  auto packs = packs_of(slots, count, [](const ParamSlot&) { return true; });
  if (packs.empty()) packs.emplace_back();  // the norm of nothing is 0
  auto* workspace = static_cast<char*>(args.workspace);
  auto* doubles = reinterpret_cast<double*>(workspace + 8);
  for (const Pack& pack : packs) {
    const unsigned chunks = pack.chunks();
    const unsigned blocks = std::clamp<unsigned>(chunks, 1, kNormBlocks);
    const Norm norm{reinterpret_cast<unsigned*>(workspace),
                    doubles,
                    doubles + 1,
                    &pack == &packs.front(),
                    &pack == &packs.back(),
                    args.max_norm,
                    args.norm,
                    args.scale};
    norm_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(pack, chunks, norm);
    check_launch("clip_scale");
  }
}

}  // namespace adagp::cuda
