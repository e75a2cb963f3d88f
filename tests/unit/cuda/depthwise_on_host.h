#pragma once
// The depthwise kernels on a CPU: the code of their threads, block by block and thread by thread.
// What is between two __syncthreads() of a kernel is one loop over a block's threads here.

#include <array>
#include <limits>
#include <vector>

#include "adagp/gpu/cuda/conv/depthwise_body.h"

namespace adagp::test {

// Whatever a thread reads before another one wrote it spoils the result.
inline std::vector<float> shared_memory(int floats) {
  return std::vector<float>(static_cast<size_t>(floats), std::numeric_limits<float>::quiet_NaN());
}

template <typename T, cuda::depthwise::Pass kPass, int kStride>
void gather_on_host(const cuda::depthwise::Gather& g) {
  using namespace cuda::depthwise;
  for (int block = 0; block < g.blocks; ++block) {
    for (int part = 0; part < g.lanes.parts; ++part) {
      std::vector<float> shared = shared_memory(g.shared_floats());
      for (int thread = 0; thread < Gather::kThreads; ++thread) {
        share_weights<T>(g, part, thread, shared.data());
      }
      for (int thread = 0; thread < Gather::kThreads; ++thread) {
        const Place place = place_of(g.lanes, part, thread);
        if (!place.works) continue;
        gather_tiles<T, kPass, kStride>(g, static_cast<uint32_t>(block), place, shared.data());
      }
    }
  }
}

template <typename T, int kStride>
void reduce_on_host(const cuda::depthwise::Reduce& g) {
  using namespace cuda::depthwise;
  struct Sums {
    float of[kTaps][kLanes] = {};
  };
  for (int chunk = 0; chunk < g.chunks; ++chunk) {
    for (int part = 0; part < g.lanes.parts; ++part) {
      std::array<Sums, Reduce::kThreads> sums{};
      for (int thread = 0; thread < Reduce::kThreads; ++thread) {
        const Place place = place_of(g.lanes, part, thread);
        if (!place.works) continue;
        add_chunk<T, kStride>(g, static_cast<uint32_t>(chunk), place,
                              sums[static_cast<size_t>(thread)].of);
      }
      std::vector<float> shared = shared_memory(kLanes * Reduce::kStride);
      for (int tap = 0; tap < kTaps; ++tap) {
        for (int thread = 0; thread < Reduce::kThreads; ++thread) {
          share_sums(thread, sums[static_cast<size_t>(thread)].of[tap], shared.data());
        }
        for (int thread = 0; thread < Reduce::kThreads; ++thread) {
          add_shared(g, part, chunk, tap, thread, shared.data());
        }
      }
    }
  }
  constexpr int kThreads = Reduce::kColumns * Reduce::kGroups;
  const int blocks = (kTaps * g.lanes.channels + Reduce::kColumns - 1) / Reduce::kColumns;
  for (int block = 0; block < blocks; ++block) {
    std::vector<float> shared = shared_memory(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) add_chunks(g, block, thread, shared.data());
    for (int thread = 0; thread < kThreads; ++thread) {
      add_groups<T>(g, block, thread, shared.data());
    }
  }
}

// Calls f.template operator()<T, kStride>().
template <typename F>
void with_types(const cuda::DepthwiseArgs& args, const F& f) {
  using cuda::depthwise::Bf16;
  if (args.type == cuda::Type::kFloat) {
    args.stride == 1 ? f.template operator()<float, 1>() : f.template operator()<float, 2>();
  } else {
    args.stride == 1 ? f.template operator()<Bf16, 1>() : f.template operator()<Bf16, 2>();
  }
}

inline void forward_on_host(const cuda::DepthwiseArgs& args) {
  using namespace cuda::depthwise;
  with_types(args, [&]<typename T, int kStride>() {
    gather_on_host<T, Pass::kForward, kStride>(plan_forward(args));
  });
}
inline void input_gradient_on_host(const cuda::DepthwiseArgs& args) {
  using namespace cuda::depthwise;
  with_types(args, [&]<typename T, int kStride>() {
    gather_on_host<T, Pass::kInputGradient, kStride>(plan_input_gradient(args));
  });
}
inline void weight_gradient_on_host(const cuda::DepthwiseArgs& args) {
  with_types(args, [&]<typename T, int kStride>() {
    reduce_on_host<T, kStride>(cuda::depthwise::plan_weight_gradient(args));
  });
}

}  // namespace adagp::test
