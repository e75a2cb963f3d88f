// Launches that begin while the one before ends, and launches replayed from a graph: the same bits
// as one after the other.

#include <functional>

#include "adagp/gpu/cuda/norm/norm.h"
#include "gpu/kernels/predictor_problem.h"

namespace adagp::test {
namespace {

using cuda::Type;
using PredictorLaunches = KernelTest;

// Long enough for the launches to overlap, and of every kind: with quads and without.
const std::vector<LayerShape> kShapes = {{64, 27},
                                         {512, 2304},
                                         {300, 576, Type::kFloat},
                                         {512, 4608},
                                         {70, 64, Type::kBFloat16, true, 1}};
constexpr int kSteps = 5;

void train_step(Problem& problem) {
  cuda::UpdateRule rule;
  rule.kind = cuda::UpdateRule::Kind::kAdam;
  problem.train(rule);
}

class Stream {
 public:
  Stream() { must(cudaStreamCreate(&stream_)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Steps recorded as one graph; replayed `times` times.
template <typename Work>
void replay(const Stream& stream, int times, const Work& work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  work();
  must(cudaStreamEndCapture(stream.get(), &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < times; ++i) must(cudaGraphLaunch(exec, stream.get()));
  must(cudaStreamSynchronize(stream.get()));
  must(cudaGraphExecDestroy(exec));
  must(cudaGraphDestroy(graph));
}

void expect_same(const Problem& got, const Problem& expected) {
  EXPECT_EQ(got.features->values(), expected.features->values());
  EXPECT_EQ(got.fc_weight->values(), expected.fc_weight->values());
  EXPECT_EQ(got.fc_bias->values(), expected.fc_bias->values());
  EXPECT_EQ(got.fc_low->values(), expected.fc_low->values());
  EXPECT_EQ(got.conv_weight->values(), expected.conv_weight->values());
  EXPECT_EQ(got.scale->values(), expected.scale->values());
  EXPECT_EQ(got.loss->values(), expected.loss->values());
  for (size_t l = 0; l < kShapes.size(); ++l) {
    EXPECT_EQ(got.states[l].weight->values(), expected.states[l].weight->values()) << l;
    EXPECT_EQ(got.states[l].first->values(), expected.states[l].first->values()) << l;
    EXPECT_EQ(got.states[l].low->values(), expected.states[l].low->values()) << l;
  }
}

// With a wait behind each call.
template <typename Step>
void run_apart(Problem& problem, const Step& step) {
  for (int i = 0; i < kSteps; ++i) {
    step(problem);
    must(cudaDeviceSynchronize());
  }
}

// Trained in between, so that features and net change from step to step: a stale read would show.
void predict_apart(Problem& problem) {
  problem.make_features();
  must(cudaDeviceSynchronize());
  problem.predict(cuda::UpdateRule{});
  must(cudaDeviceSynchronize());
  train_step(problem);
}

void predict_together(Problem& problem) {
  problem.make_features();
  problem.predict(cuda::UpdateRule{});
  train_step(problem);
}

TEST_F(PredictorLaunches, EarlyUpdatesAreTheSame) {
  const Stream stream;
  Problem apart(kShapes, true), early(kShapes, true);
  for (Problem* problem : {&apart, &early}) problem->draw_gradients(1);
  early.early = true;
  early.stream = stream.get();
  run_apart(apart, predict_apart);
  for (int i = 0; i < kSteps; ++i) predict_together(early);
  must(cudaStreamSynchronize(stream.get()));
  expect_same(early, apart);
}

// The summaries are pooled from other cells in each step.
class PooledSteps {
 public:
  explicit PooledSteps(int64_t rows) : map_{1, 8, 8, rows} {
    for (unsigned i = 0; i < kSteps; ++i) {
      cells_.push_back(
          std::make_unique<Device<float>>(normal(static_cast<size_t>(rows * 64), 20 + i, 0.3F)));
    }
  }

  void run(Problem& problem, const std::function<void()>& between) const {
    for (const auto& cells : cells_) {
      const cuda::PoolArgs pool{cells->get(), map_, problem.summaries->get()};
      cuda::pool_cells(&pool, 1, 8, problem.stream);
      between();
      problem.make_features();
      between();
      problem.predict(cuda::UpdateRule{});
      between();
    }
  }

 private:
  cuda::Map map_;
  std::vector<std::unique_ptr<Device<float>>> cells_;
};

TEST_F(PredictorLaunches, FeaturesThatBeginWhileTheirPoolEndsAreTheSame) {
  const Stream stream;
  Problem apart(kShapes, true), early(kShapes, true), replayed(kShapes, true);
  ASSERT_EQ(cuda::summary_cells({1, 8, 8, early.rows}, 8), 64);
  const PooledSteps steps(early.rows);
  for (Problem* problem : {&early, &replayed}) {
    problem->early = problem->behind_pool = true;
    problem->stream = stream.get();
  }
  steps.run(apart, [] { must(cudaDeviceSynchronize()); });
  steps.run(early, [] {});
  must(cudaStreamSynchronize(stream.get()));
  expect_same(early, apart);
  replay(stream, 1, [&] { steps.run(replayed, [] {}); });
  expect_same(replayed, apart);
}

TEST_F(PredictorLaunches, EarlyTrainingIsTheSame) {
  const Stream stream;
  Problem apart(kShapes, true), early(kShapes, true);
  for (Problem* problem : {&apart, &early}) problem->draw_gradients(2);
  early.early = true;
  early.stream = stream.get();
  run_apart(apart, train_step);
  for (int i = 0; i < kSteps; ++i) train_step(early);
  must(cudaStreamSynchronize(stream.get()));
  expect_same(early, apart);
}

TEST_F(PredictorLaunches, ReplayedStepsAreTheSame) {
  const Stream stream;
  Problem apart(kShapes, true), replayed(kShapes, true);
  for (Problem* problem : {&apart, &replayed}) problem->draw_gradients(3);
  replayed.early = true;
  replayed.stream = stream.get();
  run_apart(apart, predict_apart);
  // The first as it is: what is allocated then must not be while recording.
  predict_together(replayed);
  must(cudaStreamSynchronize(stream.get()));
  replay(stream, kSteps - 1, [&] { predict_together(replayed); });
  expect_same(replayed, apart);
}

}  // namespace
}  // namespace adagp::test
