// Can steps of copies be replayed? On a GPU a replay runs the kernels of the recorded step, and
// does outside what the recording kept. Here a replay computes the step again, but does outside the
// kept work of the first batch: it must find the tensors of every later batch where they were, and
// count what the host counts. Copies are threads.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/gpu/device/outside.h"
#include "adagp/teams/parallel/process_team.h"
#include "unit/comm/fake_group.h"
#include "unit/train/small.h"

namespace adagp::parallel {
namespace {

// Keeps the work of the first step, and does that again in every later one.
class Replays : public device::Recorder {
 public:
  void cut(const std::function<void()>& work) override {
    if (recording_) {
      kept_.push_back(work);
      work();
      return;
    }
    ASSERT_LT(next_, kept_.size()) << "a later step does more outside";
    kept_[next_++]();
  }
  template <typename Step>
  void run(const Step& step) {
    const device::RecorderScope scope(*this);
    step();
    if (!recording_) {
      EXPECT_EQ(next_, kept_.size()) << "a later step does less outside";
    }
    recording_ = false;
    next_ = 0;
  }
  size_t kept() const { return kept_.size(); }

 private:
  bool recording_ = true;
  std::vector<std::function<void()>> kept_;
  size_t next_ = 0;
};

struct Trained {
  std::map<std::string, at::Tensor> weights;
  std::string traffic;
  bool operator==(const Trained& other) const {
    return traffic == other.traffic && weights.size() == other.weights.size() &&
           std::all_of(weights.begin(), weights.end(), [&](const auto& item) {
             return at::equal(item.second, other.weights.at(item.first));
           });
  }
};

// What one of the copies has after some batches, every third of them GP.
Trained train(std::unique_ptr<comm::Group> group, const config::RunConfig& config,
              const std::shared_ptr<models::Net>& net, const std::string& words, bool replayed) {
  const auto team = std::make_shared<ProcessTeam>(std::move(group), parse_spec(words), config,
                                                  *small::task(), *net);
  EXPECT_EQ(team->unrecorded(), "");
  step::Session s = step::make_session(config, small::task(), net, team);
  s.net->train();
  step::add_summaries(s);
  step::add_predictor(s, 6);
  const auto method = method::find_method(config.method).make(s);
  const auto source = team->share(small::task()->batches(config, task::Use::kTrain, at::kCPU));
  Replays exact, cheap;
  for (int i = 0; i < 6; ++i) {
    s.set_lr(config.optim.lr * (1 + 0.1 * i));
    const bool predicted = i % 3 == 2;
    const data::Batch batch = source->next();
    if (!predicted) method->advance(s);
    const auto step = [&] {
      predicted ? method->cheap_step(s, batch) : method->exact_step(s, batch, nullptr);
    };
    replayed ? (predicted ? cheap : exact).run(step) : step();
  }
  if (replayed) {
    EXPECT_GT(exact.kept(), 0U);
  }
  return {small::copy_of(*s.net), team->traffic()};
}

// Before there are threads: they share the generator that draws the weights.
std::vector<std::shared_ptr<models::Net>> built(int copies, const config::RunConfig& config) {
  std::vector<std::shared_ptr<models::Net>> nets;
  for (int i = 0; i < copies; ++i) nets.push_back(task::build_net(config, *small::task()));
  return nets;
}

std::vector<Trained> train_copies(int copies, const config::RunConfig& config,
                                  const std::string& words, bool replayed) {
  std::vector<Trained> out(static_cast<size_t>(copies));
  const auto nets = built(copies, config);
  const auto exchange = std::make_shared<testing::Exchange>(copies);
  testing::expect_no_errors(testing::on_threads(*exchange, [&](int rank) {
    out[static_cast<size_t>(rank)] =
        train(std::make_unique<testing::FakeGroup>(exchange, rank), config,
              nets[static_cast<size_t>(rank)], words, replayed);
  }));
  return out;
}

void expect_replay_equals_eager(const config::RunConfig& config,
                                const std::string& words = "data") {
  for (const int copies : {1, 2}) {
    SCOPED_TRACE(std::to_string(copies) + " copies");
    const auto eager = train_copies(copies, config, words, false);
    EXPECT_TRUE(train_copies(copies, config, words, true) == eager);
  }
}

config::RunConfig config_of(const std::string& method) {
  config::RunConfig c = small::config(method);
  c.data.synthetic_train = 60;
  return c;
}

TEST(RecordedSteps, OfCopiesExchangeInReplaysWhatTheyExchangeEagerly) {
  for (const char* method : {"bp", "adagp", "zero", "small-batch"}) {
    SCOPED_TRACE(method);
    expect_replay_equals_eager(config_of(method));
  }
}

TEST(RecordedSteps, OfMicroBatchesDoSo) {
  config::RunConfig config = config_of("adagp");
  config.accumulate = 5;
  expect_replay_equals_eager(config);
}

TEST(RecordedSteps, OneCopyTrainsWhatAProcessAloneTrains) {
  const config::RunConfig config = config_of("adagp");
  step::Session s = small::session(config);
  const auto method = method::find_method(config.method).make(s);
  const auto source = small::task()->batches(config, task::Use::kTrain, at::kCPU);
  for (int i = 0; i < 6; ++i) {
    s.set_lr(config.optim.lr * (1 + 0.1 * i));
    const data::Batch batch = source->next();
    i % 3 == 2 ? method->cheap_step(s, batch) : method->full_step(s, batch);
  }
  const auto alone = small::copy_of(*s.net);
  const Trained together = train_copies(1, config, "data", true)[0];
  for (const auto& [name, value] : together.weights) {
    EXPECT_TRUE(at::equal(value, alone.at(name))) << name;
  }
}

TEST(RecordedSteps, AreNotForWhatExchangesWithinAPass) {
  const auto why = [](const std::string& words) {
    std::string found;
    const auto exchange = std::make_shared<testing::Exchange>(2);
    const auto nets = built(2, config_of("bp"));
    testing::expect_no_errors(testing::on_threads(*exchange, [&](int rank) {
      const config::RunConfig config = config_of("bp");
      const ProcessTeam team(std::make_unique<testing::FakeGroup>(exchange, rank),
                             parse_spec(words), config, *small::task(),
                             *nets[static_cast<size_t>(rank)]);
      if (rank == 0) found = team.unrecorded();
    }));
    return found;
  };
  EXPECT_EQ(why("data"), "");
  EXPECT_NE(why("data,sync-norm").find("sync-norm"), std::string::npos);
  EXPECT_NE(why("pipeline=gpipe").find("pipeline"), std::string::npos);
}

}  // namespace
}  // namespace adagp::parallel
