// Is a step on the CPU bit for bit that of torch::optim?

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/optim.h>

#include "adagp/engine/optim/optimizer.h"
#include "unit/optim/params.h"

namespace adagp::optim {
namespace {

// Twenty steps with a moving rate, ours beside torch's; a parameter rests now and then.
template <typename MakeTorch>
void expect_bits_of_torch(const Config& config, std::vector<int> thread_counts,
                          MakeTorch make_torch) {
  for (const int threads : thread_counts) {
    at::set_num_threads(threads);
    const auto mine = random_params();
    const auto theirs = cloned(mine);
    auto optimizer = make_optimizer(mine, config);
    auto reference = make_torch(values_of(theirs));
    for (int step = 0; step < 20; ++step) {
      set_random_gradients(mine);
      if (step % 5 == 2) {
        at::Tensor resting = mine[4].value;
        resting.mutable_grad() = at::Tensor();
      }
      copy_gradients(mine, theirs);
      const double lr = 0.05 / (1 + step);
      for (auto& group : reference->param_groups()) group.options().set_lr(lr);
      optimizer->step(lr);
      reference->step();
    }
    expect_equal_bits(mine, theirs);
  }
  at::set_num_threads(1);
}

TEST(Optimizer, SgdOnTheCpuHasTheBitsOfTorch) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double decay : {0.0, 5e-4}) {
      for (const bool nesterov : {false, true}) {
        if (nesterov && momentum == 0) continue;
        // Two threads once: they are slow when the cores are busy.
        const std::vector<int> threads = nesterov && decay > 0 ? std::vector{1, 2} : std::vector{1};
        expect_bits_of_torch(
            {.momentum = momentum, .nesterov = nesterov, .decay = decay}, threads,
            [&](std::vector<at::Tensor> values) {
              return std::make_unique<torch::optim::SGD>(
                  std::move(values),
                  torch::optim::SGDOptions(0.1).momentum(momentum).nesterov(nesterov).weight_decay(
                      decay));
            });
      }
    }
  }
}

TEST(Optimizer, AdamOnTheCpuHasTheBitsOfTorch) {
  for (const double decay : {0.0, 1e-2}) {
    const Config config{.name = "adam", .decay = decay, .beta1 = 0.8, .beta2 = 0.95};
    expect_bits_of_torch(config, {1}, [&](std::vector<at::Tensor> values) {
      return std::make_unique<torch::optim::Adam>(
          std::move(values), torch::optim::AdamOptions(0.1).betas({0.8, 0.95}).weight_decay(decay));
    });
  }
}

TEST(Optimizer, AdamWOnTheCpuHasTheBitsOfTorch) {
  const Config config{.name = "adamw", .decay = 1e-2};
  expect_bits_of_torch(config, {1, 2}, [](std::vector<at::Tensor> values) {
    return std::make_unique<torch::optim::AdamW>(
        std::move(values), torch::optim::AdamWOptions(0.1).weight_decay(1e-2));
  });
}

}  // namespace
}  // namespace adagp::optim
