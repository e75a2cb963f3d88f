// One warp per example; the last block to finish adds up the examples in their order.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include "adagp/gpu/cuda/blocks.cuh"
#include "adagp/gpu/cuda/loss.h"
#include "adagp/gpu/cuda/scalar.cuh"

namespace adagp::cuda {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps;
constexpr int kFirst = 1, kFive = 2;  // bits of Example::hits
constexpr int64_t kExamplesAt = 16;   // in the workspace, behind the counter of blocks

struct __align__(8) Example {
  float loss;
  int hits;
};

template <typename T>
struct Problem {
  const T* logits;
  const int64_t* labels;
  T* gradient;
  float* loss;
  double* meters;
  float* table;
  const int64_t* rows;
  unsigned* done;
  Example* examples;
  int64_t batch;
  int classes;
  float smoothing;
};

__device__ float warp_max(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, step));
  return x;
}

struct Rank {
  float largest;
  int ahead;  // classes ahead of the label
  bool nan;
};

template <typename T>
__device__ Rank rank_of(const T* __restrict__ x, int classes, int label, float own, int lane) {
  float largest = -INFINITY;
  int ahead = 0;
  bool nan = isnan(own);
#pragma unroll 4
  for (int c = lane; c < classes; c += 32) {
    const float value = value_of(x[c]);
    largest = fmaxf(largest, value);  // passes over NaN; the sum of exponentials will show it
    ahead += value > own || (value == own && c < label);
    nan = nan || isnan(value);
  }
  return {warp_max(largest), warp_sum(ahead), __any_sync(kWholeWarp, nan) != 0};
}

// A whole warp, all lanes get the result.
template <typename T>
__device__ Example example_of(const Problem<T>& p, int64_t row, int lane) {
  const T* __restrict__ x = p.logits + row * p.classes;
  const int64_t wanted = p.labels[row];
  const bool known = wanted >= 0 && wanted < p.classes;
  const int label = known ? static_cast<int>(wanted) : -1;
  const float own = known ? value_of(x[label]) : NAN;
  const Rank rank = rank_of(x, p.classes, label, own, lane);

  float sum = 0, below = 0;
#pragma unroll 4
  for (int c = lane; c < p.classes; c += 32) {
    const float value = value_of(x[c]) - rank.largest;
    sum += expf(value);
    below += value;
  }
  sum = warp_sum(sum);
  below = warp_sum(below);

  if (p.gradient != nullptr) {
    T* __restrict__ gradient = p.gradient + row * p.classes;
    const float each = p.smoothing / static_cast<float>(p.classes);
    const float batch = static_cast<float>(p.batch);
#pragma unroll 4
    for (int c = lane; c < p.classes; c += 32) {
      const float share = expf(value_of(x[c]) - rank.largest) / sum;
      const float target = (c == label ? 1.0F - p.smoothing : 0.0F) + each;
      store(gradient + c, (share - target) / batch);
    }
  }
  const float log_sum = logf(sum);
  const float plain = log_sum - (own - rank.largest);
  if (p.table != nullptr && lane == 0) p.table[p.rows[row]] = plain;
  float loss = (1.0F - p.smoothing) * plain;
  // Not with a factor of 0: a logit of -infinity is fine without smoothing.
  if (p.smoothing > 0) loss += p.smoothing * (log_sum - below / static_cast<float>(p.classes));
  int hits = 0;
  if (!rank.nan && rank.ahead == 0) hits |= kFirst;
  if (!rank.nan && rank.ahead < 5) hits |= kFive;
  return {loss, hits};
}

__device__ void add_up(const Example* examples, int64_t batch, float* loss, double* meters) {
  double sum = 0;
  int64_t first = 0, five = 0;
  for (int64_t row = threadIdx.x; row < batch; row += kThreads) {
    const int2 raw = __ldcg(reinterpret_cast<const int2*>(examples + row));
    sum += static_cast<double>(__int_as_float(raw.x));
    first += (raw.y & kFirst) != 0;
    five += (raw.y & kFive) != 0;
  }
  sum = block_sum<kThreads>(sum);
  first = block_sum<kThreads>(first);
  five = block_sum<kThreads>(five);
  if (threadIdx.x != 0) return;
  *loss = static_cast<float>(sum / static_cast<double>(batch));
  if (meters == nullptr) return;
  meters[0] += sum;
  meters[1] += static_cast<double>(first);
  meters[2] += static_cast<double>(five);
  meters[3] += static_cast<double>(batch);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) softmax_loss_kernel(Problem<T> p) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row < p.batch) {
    const Example example = example_of(p, row, lane);
    if (lane == 0) p.examples[row] = example;
  }
  if (last_block(p.done)) add_up(p.examples, p.batch, p.loss, p.meters);
}

template <typename T>
void launch(const LossArgs& args, cudaStream_t stream) {
  auto* workspace = static_cast<char*>(args.workspace);
  const Problem<T> problem{static_cast<const T*>(args.logits),
                           args.labels,
                           static_cast<T*>(args.gradient),
                           args.loss,
                           args.meters,
                           args.table,
                           args.rows,
                           reinterpret_cast<unsigned*>(workspace),
                           reinterpret_cast<Example*>(workspace + kExamplesAt),
                           args.batch,
                           static_cast<int>(args.classes),
                           args.smoothing};
  const int64_t blocks = std::max<int64_t>(1, (args.batch + kWarps - 1) / kWarps);
  softmax_loss_kernel<T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(problem);
  check_launch("softmax_loss");
}

}  // namespace

int64_t loss_workspace(int64_t batch) {
  return kExamplesAt + batch * static_cast<int64_t>(sizeof(Example));
}

void softmax_loss(const LossArgs& args, Stream stream) {
  if (args.type == Type::kFloat) {
    launch<float>(args, static_cast<cudaStream_t>(stream));
  } else {
    launch<__nv_bfloat16>(args, static_cast<cudaStream_t>(stream));
  }
}

}  // namespace adagp::cuda
