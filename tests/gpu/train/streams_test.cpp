// Two sessions of one process on one GPU, each in a thread and on a stream of its own.

#include <barrier>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "adagp/gpu/device/kernels.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

TEST_F(GpuTest, StreamsHaveScratchOfTheirOwn) {
  const at::Device device(at::kCUDA, 0);
  void* found[2] = {};
  cuda::Stream streams[2] = {};
  for (int i = 0; i < 2; ++i) {
    std::thread([&, i] {
      device::use_own_stream(device);
      streams[i] = device::stream(device);
      found[i] = device::scratch(device::Scratch::kStats, device, 1024);
      EXPECT_EQ(device::scratch(device::Scratch::kStats, device, 1024), found[i]);
    }).join();
  }
  ASSERT_NE(streams[0], streams[1]);
  EXPECT_NE(found[0], found[1]);
}

// Losses of BP and GP steps, unrecorded: their kernels come one by one, so that those of two
// threads meet on the device.
std::vector<double> losses(const config::RunConfig& config, int steps, std::mutex& making,
                           std::barrier<>& start) {
  std::unique_lock lock(making);  // random numbers for the weights come from one generator
  step::Session s = test::session(config);
  auto method = method::find_method(config.method).make(s);
  const auto loader = test::task()->batches(config, task::Use::kTrain, s.device);
  device::synchronise(s.device);
  lock.unlock();
  start.arrive_and_wait();
  std::vector<at::Tensor> kept;
  for (int i = 0; i < steps; ++i) {
    const auto batch = loader->next();
    if (i % 3 == 2) {
      method->cheap_step(s, batch);
    } else {
      kept.push_back(method->full_step(s, batch).loss.clone());
    }
  }
  std::vector<double> out;
  for (const at::Tensor& loss : kept) out.push_back(loss.item<double>());
  return out;
}

TEST_F(GpuTest, SessionsSideBySideComputeWhatEachComputesAlone) {
  constexpr int kSteps = 120;
  for (const char* precision : {"fp32", "bf16"}) {
    std::mutex making;
    config::RunConfig configs[2] = {test::world(precision), test::world(precision)};
    configs[1].seed = 1;
    configs[1].clip = 0.5;
    std::vector<double> alone[2], together[2];
    for (int i = 0; i < 2; ++i) {
      std::barrier<> one(1);
      std::thread([&, i] { alone[i] = losses(configs[i], kSteps, making, one); }).join();
    }
    std::barrier<> both(2);
    std::thread first([&] { together[0] = losses(configs[0], kSteps, making, both); });
    std::thread second([&] { together[1] = losses(configs[1], kSteps, making, both); });
    first.join();
    second.join();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(together[i], alone[i]) << precision << " " << i;
  }
}

}  // namespace
}  // namespace adagp
