#pragma once
// A small world on a GPU.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "adagp/engine/method/table.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/session.h"
#include "adagp/engine/train/build.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::test {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU here";
    if (const auto why = device::why_no_kernels(at::Device(at::kCUDA, 0)); !why.empty()) {
      GTEST_SKIP() << why;
    }
    at::globalContext().setAllowTF32CuDNN(false);
  }
};

// What the GPU found in fp32, beside what the CPU found in fp64.
inline void expect_close(const at::Tensor& found, const at::Tensor& expected, const char* what) {
  const at::Tensor host = found.cpu().to(at::kDouble);
  // fp32 kernels over some thousand values per channel.
  EXPECT_LE((host - expected).norm().item<double>(), 1e-4 * expected.norm().item<double>()) << what;
}

// |found - expected| / |expected|.
inline double distance(const at::Tensor& found, const at::Tensor& expected) {
  return (found.to(at::kDouble) - expected).norm().item<double>() / expected.norm().item<double>();
}

inline config::RunConfig world(const std::string& precision) {
  config::RunConfig c;
  c.model.name = "vgg13_bn";
  c.model.form = "cifar";
  c.model.classes = 10;
  c.model.width_divisor = 4;
  c.method = "adagp";
  c.epochs = 3;
  c.batch = 32;
  c.eval_batch = 100;
  c.device = "cuda";
  c.precision = precision;
  c.data.synthetic_size = 32;
  c.data.synthetic_train = 640;
  c.data.synthetic_test = 200;
  c.augment.crop = "pad";
  c.schedule = "1ep bp, 2:1";
  c.optim.lr = 0.02;
  c.probe_every = "5ba";
  c.log_every = "7ba";
  c.deterministic = true;
  return c;
}

inline const task::TaskPtr& task() {
  static const task::TaskPtr opened = task::open_task(world("fp32"));
  return opened;
}

inline step::Session session(const config::RunConfig& c) {
  step::Session s = step::make_session(c, task(), task::build_net(c, *task()));
  s.net->train();
  s.set_lr(c.optim.lr);
  step::add_summaries(s);
  step::add_predictor(s, 20);
  return s;
}

inline data::Batch batch(const config::RunConfig& c, int64_t position = 0) {
  const auto source = task()->batches(c, task::Use::kTrain, device::choose_device(c.device));
  source->seek(0, position);
  return source->next();
}

}  // namespace adagp::test
