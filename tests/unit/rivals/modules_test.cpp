// Parts of a network with signals of their own: is each gradient the one that its rule says?

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/tap.h"
#include "unit/method/matrices.h"
#include "unit/rivals/halves.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

using small::Values;

// The recurrence itself, written out by batch and module: no autograd, no queues.
std::vector<at::Tensor> recurrence(std::vector<at::Tensor> w,
                                   const std::vector<data::Batch>& batches,
                                   const config::RunConfig& c) {
  const int64_t modules = 3, ticks = std::ssize(batches);
  using ByBatch = std::map<std::pair<int64_t, int64_t>, at::Tensor>;
  ByBatch x, y, used, back;
  std::vector<at::Tensor> v(3);
  for (int64_t t = 0; t < ticks; ++t) {
    std::vector<at::Tensor> gradient(3);
    for (int64_t k = 0; k < modules; ++k) {
      const int64_t b = c.parts.get<rivals::ModulesOptions>().unlocked ? t - k : t;
      if (b < 0) continue;
      x[{k, b}] = k == 0 ? batches[static_cast<size_t>(b)].images().flatten(1) : y.at({k - 1, b});
      used[{k, b}] = w[static_cast<size_t>(k)].clone();
      y[{k, b}] = x[{k, b}].mm(used[{k, b}].t());
    }
    for (int64_t k = 0; k < modules; ++k) {
      const int64_t late = modules - 1 - k;
      const int64_t b =
          c.parts.get<rivals::ModulesOptions>().unlocked ? t - k - 2 * late : t - late;
      if (b < 0) continue;
      at::Tensor delta;
      if (k == modules - 1) {
        const at::Tensor truth =
            at::zeros({small::kExamples, small::kClasses}, at::kDouble)
                .scatter_(1, batches[static_cast<size_t>(b)].labels().unsqueeze(1), 1.0);
        delta = (y.at({k, b}).softmax(1) - truth) / static_cast<double>(small::kExamples);
      } else {
        delta = back.at({k + 1, b}) * c.parts.get<rivals::ModulesOptions>().shrink;
      }
      gradient[static_cast<size_t>(k)] = delta.t().mm(x.at({k, b}));
      back[{k, b}] = delta.mm(used.at({k, b}));
    }
    for (size_t k = 0; k < 3; ++k) {
      if (!gradient[k].defined()) continue;
      const at::Tensor g = gradient[k] + c.optim.decay * w[k];
      v[k] = v[k].defined() ? c.optim.momentum * v[k] + g : g;
      w[k] = w[k] - c.optim.lr * v[k];
    }
  }
  return w;
}

double distance_from_recurrence(bool unlocked, double shrink) {
  at::manual_seed(7);
  config::RunConfig c = small::modules_config("delayed", 3);
  c.parts.get<rivals::ModulesOptions>().unlocked = unlocked;
  c.parts.get<rivals::ModulesOptions>().shrink = shrink;
  c.optim.lr = 0.05;
  step::Session s = small::matrices_session(c);
  std::vector<at::Tensor> start;
  for (const at::Tensor& p : s.net->parameters()) start.push_back(p.detach().clone());
  const auto batches = small::made_up_batches(14);
  const auto method = find_method("modules").make(s);
  for (const data::Batch& batch : batches) method->full_step(s, batch);
  const auto expected = recurrence(start, batches, c);
  double worst = 0;
  const auto got = s.net->parameters();
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_GT((got[k] - start[k]).abs().max().item<double>(), 1e-3) << "nothing moved";
    worst = std::max(worst, (got[k] - expected[k]).abs().max().item<double>());
  }
  return worst;
}

// Weights are of order 0.1 and take 14 steps: a hundred roundings of fp64 stay below.
constexpr double kRoundings = 1e-14;

TEST(ModulesDelayed, DdgIsItsRecurrence) {
  EXPECT_LT(distance_from_recurrence(false, 1), kRoundings);
}
TEST(ModulesDelayed, FdgIsItsRecurrence) {
  EXPECT_LT(distance_from_recurrence(true, 1), kRoundings);
}
TEST(ModulesDelayed, ShrinkingIsItsRecurrence) {
  EXPECT_LT(distance_from_recurrence(true, 0.5), kRoundings);
}

// The second tick moves the lower half by the first batch, whose gradient at the cut was made at
// the first weights.
Values expected_of_second_tick(const config::RunConfig& c, const Values& first,
                               const Values& second, const data::Batch& batch) {
  step::Session s = small::session(c);
  small::load(s, first);
  const small::Halves net = small::halves(s);
  const at::Tensor cut = small::run_all(net.lower, batch.images()).detach().requires_grad_();
  at::cross_entropy_loss(small::run_all(net.upper, cut), batch.labels()).backward();
  small::load(s, second);
  for (auto& p : s.net->parameters()) p.mutable_grad().reset();
  torch::autograd::backward({small::run_all(net.lower, batch.images())}, {cut.grad()});
  Values out;
  for (const auto& item : s.net->named_parameters()) {
    if (net.lower_names.contains(item.key())) out[item.key()] = item.value().grad().clone();
  }
  return out;
}

void expect_second_tick(const std::string& signal, bool at_new_weights) {
  const config::RunConfig c = small::plain_modules(signal);
  step::Session s = small::session(c);
  const data::Batch one = small::batch(c, 0), two = small::batch(c, 1);
  const auto method = find_method("modules").make(s);
  const Values first = small::copy_of(*s.net);
  method->full_step(s, one);
  // The upper half has moved already, the lower one waits.
  for (const std::string& name : small::halves(s).lower_names) {
    if (name.find("running") == std::string::npos && name.find("tracked") == std::string::npos) {
      EXPECT_TRUE(at::equal(s.net->named_parameters()[name], first.at(name))) << name;
    }
  }
  // So that old and new weights differ, the lower half is moved from outside.
  Values second = small::copy_of(*s.net);
  {
    const at::NoGradGuard no_grad;
    const at::AutoDispatchBelowADInplaceOrView unseen;
    for (auto& item : s.net->named_parameters()) {
      if (item.value().dim() == 4) item.value().mul_(1.3).add_(0.01);
    }
  }
  second = small::copy_of(*s.net);
  method->full_step(s, two);
  const Values expected = expected_of_second_tick(c, first, at_new_weights ? second : first, one);
  EXPECT_GT(expected.size(), 3U);
  for (const auto& [name, gradient] : expected) {
    const at::Tensor moved =
        (second.at(name) - s.net->named_parameters()[name].detach()) / c.optim.lr;
    // Weights are of order 1 and a step of this rate rounds to their last place.
    EXPECT_TRUE(at::allclose(moved, gradient, 1e-4, 2e-6))
        << name << " differs by " << (moved - gradient).abs().max().item<float>();
  }
}

TEST(ModulesReplay, IsAutogradAtTheOldInputAndTheNewWeights) {
  expect_second_tick("replay", true);
}
TEST(ModulesDelayed, IsAutogradAtTheOldInputAndTheOldWeights) {
  expect_second_tick("delayed", false);
}

// Recorded steps, such as those of an evaluation, find weights by their address.
TEST(ModulesDelayed, ParametersStayInTheirMemory) {
  const config::RunConfig c = small::plain_modules("delayed");
  step::Session s = small::session(c);
  const auto addresses = [&] {
    std::map<std::string, const void*> out;
    for (const auto& item : s.net->named_parameters()) out[item.key()] = item.value().data_ptr();
    return out;
  };
  const auto before = addresses();
  const auto method = find_method("modules").make(s);
  for (int i = 0; i < 3; ++i) method->full_step(s, small::batch(c, i));
  EXPECT_EQ(addresses(), before);
}

// In the forward pass its weight becomes one that takes no other data, and then something fails.
class Breaks : public nn::TapSink {
 public:
  explicit Breaks(at::Tensor weight) : weight_(std::move(weight)) {}
  void on_output(const nn::WeightLayer&, const at::Tensor&, const at::Tensor&) override {
    weight_.unsafeGetTensorImpl()->_change_backend_component_keys(at::kMeta);
    throw DataError("image 7 is broken");
  }

 private:
  at::Tensor weight_;
};

TEST(ModulesDelayed, WeightsThatCannotBePutBackEndTheTraining) {
  step::Session s = small::matrices_session(small::modules_config("delayed", 3));
  const auto method = find_method("modules").make(s);
  const auto batches = small::made_up_batches(2);
  {
    Breaks sink(s.net->parameters().at(0));
    const nn::TapScope taps(sink);
    EXPECT_THROW(method->full_step(s, batches[0]), DataError) << "the first error is the one told";
  }
  EXPECT_NE(s.broken.find("the weights after a pass with older ones could not be put back"),
            std::string::npos)
      << s.broken;
  EXPECT_THROW(method->full_step(s, batches[1]), Error);
}

TEST(ModulesReplay, MovesTheStatisticsOfNormsOnce) {
  const config::RunConfig c = small::plain_modules("replay");
  step::Session s = small::session(c);
  const auto method = find_method("modules").make(s);
  for (int i = 0; i < 3; ++i) method->full_step(s, small::batch(c, i));
  for (const auto& item : s.net->named_buffers()) {
    if (!item.key().ends_with("num_batches_tracked")) continue;
    EXPECT_EQ(item.value().item<int64_t>(), 3) << item.key();
  }
}

TEST(Modules, TooManyAreRefusedWithTheRange) {
  step::Session s = small::session(small::config("modules"));
  s.config.parts.get<rivals::ModulesOptions>().count = 40;
  try {
    find_method("modules").make(s);
    FAIL() << "40 parts of resnet8";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("modules.count = 40: expected 1 to"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace adagp::method
