// Fused steps against the single ones they stand for, on a GPU.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/conv_norm.h"
#include "adagp/engine/predictor/shared.h"
#include "adagp/gpu/device/kernels.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

// A sink that asks for the tensors, so that conv_norm goes step by step.
class Watcher : public nn::TapSink {
 public:
  void on_output(const nn::WeightLayer&, const at::Tensor&, const at::Tensor&) override {}
};

struct Pair {
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
};

Pair make_pair(int64_t in, int64_t out, bool bias) {
  Pair p{nn::Conv2d(nn::conv(in, out, 3, 1, 1, bias)), nn::BatchNorm2d(out)};
  p.conv->to(at::kCUDA);
  p.norm->to(at::kCUDA);
  auto& w = p.conv->weight;
  w.set_data(w.detach().contiguous(at::MemoryFormat::ChannelsLast));
  const at::NoGradGuard no_grad;
  p.norm->weight.uniform_(0.5, 1.5);
  p.norm->bias.uniform_(-0.5, 0.5);
  return p;
}

struct Outcome {
  std::vector<at::Tensor> tensors;
};

// Forward and backward with the same weights, fused or not.
Outcome outcome(const Pair& p, const at::Tensor& input, nn::NormAct act, bool fused,
                const at::Tensor& added = {}) {
  nn::Conv2d conv = p.conv;
  nn::BatchNorm2d copy(p.norm->weight.size(0));
  copy->to(at::kCUDA);
  {
    const at::NoGradGuard no_grad;
    copy->weight.copy_(p.norm->weight);
    copy->bias.copy_(p.norm->bias);
  }
  conv->zero_grad();
  const at::Tensor x = input.detach().clone().requires_grad_();
  const at::Tensor residual = added.defined() ? added.clone().requires_grad_() : at::Tensor();
  if (residual.defined()) act.residual = [residual] { return residual; };
  Watcher watcher;
  std::optional<nn::TapScope> taps;
  if (!fused) taps.emplace(watcher);
  const at::Tensor y = nn::conv_norm(*conv, *copy, x, act);
  // A loss whose gradient differs from element to element.
  const at::Tensor weights = at::arange(y.numel(), y.options()).view(y.sizes()).sin();
  (y * weights).sum().backward();
  Outcome out{{y.detach(), x.grad(), conv->weight.grad(), copy->weight.grad(), copy->bias.grad(),
               copy->running_mean, copy->running_var, copy->num_batches_tracked.to(at::kFloat)}};
  if (residual.defined()) out.tensors.push_back(residual.grad());
  return out;
}

void expect_same(const Outcome& got, const Outcome& expected) {
  ASSERT_EQ(got.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < got.tensors.size(); ++i) {
    const double norm = expected.tensors[i].norm().item<double>();
    const double error = (got.tensors[i] - expected.tensors[i]).norm().item<double>();
    // fp32 sums of up to 10^5 terms in another order, twice through a norm.
    EXPECT_LE(error, 1e-4 * norm + 1e-6) << "tensor " << i;
  }
}

TEST_F(GpuTest, ConvNormEqualsItsSteps) {
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  for (const bool bias : {false, true}) {
    for (const int64_t side : {1, 2, 7, 16}) {
      for (const int64_t channels : {8, 24, 64}) {
        const Pair p = make_pair(16, channels, bias);
        const at::Tensor x =
            at::randn({6, 16, side, side}, at::kCUDA).contiguous(at::MemoryFormat::ChannelsLast);
        nn::NormAct act;
        expect_same(outcome(p, x, act, true), outcome(p, x, act, false));
        act.relu = true;
        expect_same(outcome(p, x, act, true), outcome(p, x, act, false));
        if (side >= 2) {
          nn::NormAct pooled = act;
          pooled.pool = nn::Pool2d{2, 2};
          expect_same(outcome(p, x, pooled, true), outcome(p, x, pooled, false));
        }
        const at::Tensor added = at::randn({6, channels, side, side}, at::kCUDA)
                                     .contiguous(at::MemoryFormat::ChannelsLast);
        expect_same(outcome(p, x, act, true, added), outcome(p, x, act, false, added));
      }
    }
  }
}

TEST_F(GpuTest, SummariesOfTheKernelEqualThoseOfAten) {
  auto config = test::world("fp32");
  step::Session s = test::session(config);
  const auto batch = test::batch(config);
  const at::NoGradGuard no_grad;
  s.summaries->begin();
  {
    const nn::TapScope taps(*s.summaries);
    s.net->run(batch.inputs);
  }
  s.summaries->end();
  // The same network on the CPU, by ATen.
  config.device = "cpu";
  step::Session host = test::session(config);
  host.summaries->begin();
  {
    const nn::TapScope taps(*host.summaries);
    host.net->forward(batch.images().cpu());
  }
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const at::Tensor got = s.summaries->rows(l).cpu(), expected = host.summaries->rows(l);
    // TF32 off: fp32 convolutions of up to ten layers, summed in another order.
    EXPECT_LE((got - expected).norm().item<double>(), 1e-4 * expected.norm().item<double>())
        << s.layers[l]->path();
  }
}

// Evaluation with gradients: the norm is a constant there, and autograd must see it.
TEST_F(GpuTest, EvaluationModeHasTheGradientsOfAutograd) {
  Pair p = make_pair(16, 24, true);
  p.norm->eval();
  const at::Tensor input =
      at::randn({3, 16, 8, 8}, at::kCUDA).contiguous(at::MemoryFormat::ChannelsLast);
  nn::NormAct act;
  act.relu = true;
  const at::Tensor x = input.clone().requires_grad_(), z = input.clone().requires_grad_();
  nn::conv_norm(*p.conv, *p.norm, x, act).sum().backward();
  at::relu(p.norm->forward(p.conv->forward(z))).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), z.grad()));
  const at::NoGradGuard no_grad;
  const at::Tensor fused = nn::conv_norm(*p.conv, *p.norm, input, act);
  const at::Tensor plain = at::relu(p.norm->forward(p.conv->forward(input)));
  EXPECT_LE((fused - plain).norm().item<double>(), 1e-5 * plain.norm().item<double>());
}

// The bf16 kernels against the fp32 predictor: the same numbers but for bf16's 8 bits, whose
// relative error is at most 2^-8 per factor and averages out over 256 products.
void expect_predictors_agree(int64_t channels) {
  auto config = test::world("bf16");
  config.predictor.channels = channels;
  step::Session s = test::session(config);
  ASSERT_TRUE(predictor::SharedKernels::serve(s.layers, config.predictor));
  const auto seed = 7U;
  predictor::SharedPredictor kernels(s.layers, config.predictor, seed, 10);
  std::vector<at::Tensor> low;
  for (auto* layer : s.layers) {
    low.push_back(layer->bf16_weight);
    layer->bf16_weight = at::Tensor();
  }
  predictor::SharedPredictor plain(s.layers, config.predictor, seed, 10);
  for (size_t l = 0; l < low.size(); ++l) s.layers[l]->bf16_weight = low[l];

  const auto batch = test::batch(config);
  for (int step = 0; step < 20; ++step) {
    step::backprop(s, batch, true);
    std::vector<at::Tensor> gradients;
    for (const auto* layer : s.layers) gradients.push_back(predictor::gradient_of(*layer));
    const double a = kernels.observe(*s.summaries, gradients).item<double>();
    const double b = plain.observe(*s.summaries, gradients).item<double>();
    EXPECT_NEAR(a, b, 0.01 * b) << "step " << step;
    step::update(s);
  }
  const auto one = kernels.state(), other = plain.state();
  std::vector<std::string> names{"param.fc.weight", "param.conv.weight", "param.fc.bias"};
  for (const auto* layer : s.layers) names.push_back("rms." + layer->path());
  for (const std::string& name : names) {
    const at::Tensor x = one.at(name), y = other.at(name);
    EXPECT_LE((x - y).norm().item<double>(), 0.02 * y.norm().item<double>()) << name;
  }
}

TEST_F(GpuTest, PredictorKernelsAgreeWithTheFp32Predictor) {
  expect_predictors_agree(16);
  expect_predictors_agree(8);  // padded to 16
}

TEST_F(GpuTest, FormsOfThePredictorWithoutKernelsLearnWithoutThem) {
  const auto config = test::world("bf16");
  step::Session s = test::session(config);
  step::backprop(s, test::batch(config), true);
  std::vector<at::Tensor> gradients;
  for (const auto* layer : s.layers) gradients.push_back(predictor::gradient_of(*layer));
  for (const bool order : {false, true}) {
    predictor::Config form = config.predictor;
    (order ? form.order : form.steps) = order ? "pool-conv" : "per-layer";
    EXPECT_FALSE(predictor::SharedKernels::serve(s.layers, form));
    predictor::SharedPredictor predictor(s.layers, form, 7, 10);
    EXPECT_FALSE(predictor.predicts_early());
    const double first = predictor.observe(*s.summaries, gradients).item<double>();
    double last = first;
    for (int i = 0; i < 20; ++i) last = predictor.observe(*s.summaries, gradients).item<double>();
    EXPECT_LT(last, first);  // the same targets, twenty times
  }
}

}  // namespace
}  // namespace adagp
