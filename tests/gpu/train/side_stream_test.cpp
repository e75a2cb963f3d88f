// Work beside a step's own stream changes when things happen, and not what.

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#ifdef ADAGP_WITH_CUDA
#include <c10/cuda/CUDAGuard.h>
#endif

#include <algorithm>
#include <functional>
#include <set>

#include "adagp/engine/step/step_graph.h"
#include "adagp/gpu/device/side_stream.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::GpuTest;

// While somebody observes the operations, all work is on one stream.
class OneStream {
 public:
  OneStream() : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(nullptr))) {}
  ~OneStream() { at::removeCallback(handle_); }
  OneStream(const OneStream&) = delete;
  OneStream& operator=(const OneStream&) = delete;

 private:
  at::CallbackHandle handle_;
};

// Hands on to the predictor it takes the place of, and counts the predictions.
class Counting : public predictor::Predictor {
 public:
  Counting(std::unique_ptr<Predictor> inner, int& calls)
      : inner_(std::move(inner)), calls_(calls) {}
  bool predicts_early() const override { return inner_->predicts_early(); }
  void advance(int64_t batch) override { inner_->advance(batch); }
  at::Tensor learn(const predictor::Summaries& summaries, const std::vector<at::Tensor>& gradients,
                   const predictor::Context& context) override {
    return inner_->learn(summaries, gradients, context);
  }
  void predict(const predictor::Summaries& summaries, const predictor::Context& context,
               predictor::GradientSink& sink) override {
    ++calls_;
    inner_->predict(summaries, context, sink);
  }
  std::map<std::string, at::Tensor> state() const override { return inner_->state(); }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    inner_->load_state(state);
  }
  int64_t parameter_count() const override { return inner_->parameter_count(); }
  double macs(int64_t examples) const override { return inner_->macs(examples); }

 private:
  std::unique_ptr<Predictor> inner_;
  int& calls_;
};

struct Trained {
  std::vector<at::Tensor> weights;
  int predictions = 0;  // in the last GP step
};

// Two BP batches and a GP batch, ten times.
Trained train(const config::RunConfig& config, bool graphs) {
  Trained out;
  step::Session s = test::session(config);
  s.predictor = std::make_unique<Counting>(std::move(s.predictor), out.predictions);
  auto method = method::find_method(config.method).make(s);
  step::StepGraph full("BP", graphs), cheap("GP", graphs);
  const auto loader = test::task()->batches(config, task::Use::kTrain, s.device);
  for (int i = 0; i < 30; ++i) {
    const auto batch = loader->next();
    if (i % 3 == 2) {
      if (!graphs) out.predictions = 0;
      cheap.run(s, batch, [&](const data::Batch& b) { return method->cheap_step(s, b); });
    } else {
      method->advance(s);
      full.run(s, batch, [&](const data::Batch& b) { return method->exact_step(s, b, nullptr); });
    }
  }
  if (graphs) {
    EXPECT_EQ(full.state(), step::StepGraph::State::kReplay) << full.reason();
    EXPECT_EQ(cheap.state(), step::StepGraph::State::kReplay) << cheap.reason();
  }
  for (const auto& param : s.optimizer->params()) out.weights.push_back(param.value.cpu());
  for (const auto& [name, value] : s.predictor->state()) out.weights.push_back(value.cpu());
  return out;
}

void expect_equal(const Trained& a, const Trained& b) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i) {
    EXPECT_TRUE(at::equal(a.weights[i], b.weights[i])) << "parameter " << i;
  }
}

config::RunConfig wide() {
  config::RunConfig config = test::world("bf16");
  config.model.width_divisor = 2;  // two and a half million weights: enough to begin early
  return config;
}

// Of steps with early updates, launched one by one and replayed.
void expect_the_bits_of_one_stream(const config::RunConfig& config) {
  const Trained beside = train(config, false), replayed = train(config, true);
  EXPECT_GT(beside.predictions, 1);
  const OneStream observed;
  EXPECT_FALSE(device::SideStream::possible(at::Device(at::kCUDA, 0)));
  const Trained alone = train(config, false);
  EXPECT_EQ(alone.predictions, 1);
  expect_equal(beside, alone);
  expect_equal(replayed, alone);
}

TEST_F(GpuTest, EarlyUpdatesGiveTheSameBits) {
  expect_the_bits_of_one_stream(wide());
}

// The second convolution of a block asks for its summary before its shortcut's convolution runs,
// and has none yet when that one has reported.
TEST_F(GpuTest, EarlyUpdatesOfResidualBlocksGiveTheSameBits) {
  config::RunConfig config = test::world("bf16");
  config.model.name = "resnet18";
  config.model.width_divisor = 1;
  for (const char* head : {"predicted", "exact", "frozen"}) {
    SCOPED_TRACE(head);
    config.head = head;
    expect_the_bits_of_one_stream(config);
  }
}

// Summaries that ride on the copy into a block's map.
TEST_F(GpuTest, EarlyUpdatesOfDenseBlocksGiveTheSameBits) {
  config::RunConfig config = test::world("bf16");
  config.model.name = "densenet121";
  config.model.width_divisor = 1;
  expect_the_bits_of_one_stream(config);
}

TEST_F(GpuTest, EarlyUpdatesCountTheStepsOfAdam) {
  config::RunConfig config = wide();
  config.optim.name = "adam";
  config.optim.lr = 1e-3;
  expect_the_bits_of_one_stream(config);
}

TEST_F(GpuTest, WithoutItsOwnSummariesNothingIsEarly) {
  config::RunConfig config = wide();
  config.method = "wrong-input";
  EXPECT_EQ(train(config, false).predictions, 1);
}

TEST_F(GpuTest, MicroBatchesAreNotEarly) {
  config::RunConfig config = wide();
  config.accumulate = 2;
  EXPECT_EQ(train(config, false).predictions, 1);
}

TEST_F(GpuTest, ASideStreamIsJoined) {
  const at::Device device(at::kCUDA, 0);
  device::use_own_stream(device);
  const at::Tensor x = at::zeros({1 << 24}, at::TensorOptions(device));
  for (int i = 0; i < 20; ++i) {
    device::SideStream side(device);
    x.fill_(i);
    at::Tensor copy = at::empty_like(x);
    side.run([&] { copy.copy_(x); });
    side.join();
    EXPECT_EQ(copy.sum().item<double>(), double{1 << 24} * i);
  }
}

#ifdef ADAGP_WITH_CUDA

std::vector<cudaGraphNode_t> nodes_before(cudaGraphNode_t node) {
  const auto get = [&](cudaGraphNode_t* to, size_t* count) {
#if CUDART_VERSION >= 13000
    C10_CUDA_CHECK(cudaGraphNodeGetDependencies(node, to, nullptr, count));
#else
    C10_CUDA_CHECK(cudaGraphNodeGetDependencies(node, to, count));
#endif
  };
  size_t count = 0;
  get(nullptr, &count);
  std::vector<cudaGraphNode_t> out(count);
  get(out.data(), &count);
  return out;
}

// For each kernel of a recorded graph how many others must end before it, in ascending order.
std::vector<size_t> numbers_of_waits(const std::function<void()>& record) {
  const auto stream = c10::cuda::getStreamFromPool(true, 0);
  const c10::cuda::CUDAStreamGuard guard(stream);
  cudaGraph_t graph = nullptr;
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  record();
  C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  std::vector<cudaGraphNode_t> all(nodes);
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, all.data(), &nodes));
  std::vector<size_t> out;
  for (cudaGraphNode_t node : all) {
    std::set<cudaGraphNode_t> before;
    std::vector<cudaGraphNode_t> open{node};
    while (!open.empty()) {
      const std::vector<cudaGraphNode_t> found = nodes_before(open.back());
      open.pop_back();
      for (cudaGraphNode_t other : found) {
        if (before.insert(other).second) open.push_back(other);
      }
    }
    out.push_back(before.size());
  }
  C10_CUDA_CHECK(cudaGraphDestroy(graph));
  std::sort(out.begin(), out.end());
  return out;
}

// Three fills on the stream, work beside that is queued behind the second one, and a last fill.
TEST_F(GpuTest, WorkBeginsWhereItsStartWasSet) {
  const at::Device device(at::kCUDA, 0);
  const at::Tensor x = at::zeros({64}, at::TensorOptions(device)), y = at::zeros_like(x);
  const auto recorded = [&](bool set_start) {
    return numbers_of_waits([&] {
      device::SideStream side(device);
      x.fill_(1);
      if (set_start) side.set_start();
      x.fill_(2);
      side.run([&] { y.fill_(3); });
      x.fill_(4);
      side.join();
      x.fill_(5);
    });
  };
  EXPECT_EQ(recorded(true), (std::vector<size_t>{0, 1, 1, 2, 4}));
  EXPECT_EQ(recorded(false), (std::vector<size_t>{0, 1, 2, 2, 4}));
}

// A start that was set while nobody observed, and work that runs while somebody does.
TEST_F(GpuTest, AStartIsForTheNextWorkAlone) {
  const at::Device device(at::kCUDA, 0);
  const at::Tensor x = at::zeros({64}, at::TensorOptions(device)), y = at::zeros_like(x);
  const auto waits = numbers_of_waits([&] {
    device::SideStream side(device);
    x.fill_(1);
    side.set_start();
    {
      const OneStream observed;
      side.run([&] { x.fill_(2); });
    }
    side.run([&] { y.fill_(3); });
    side.join();
  });
  EXPECT_EQ(waits, (std::vector<size_t>{0, 1, 2}));
}

#endif  // ADAGP_WITH_CUDA

}  // namespace
}  // namespace adagp
