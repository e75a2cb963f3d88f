// What auto is made of: held-out examples, rehearsals undone, averaged weights.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/undo.h"
#include "adagp/rivals/method/heldout.h"
#include "adagp/rivals/method/heldout_examples.h"
#include "adagp/rivals/method/weight_average.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

TEST(HeldOut, IsKeptOutAndMeasured) {
  config::RunConfig c = small::config("auto");
  c.parts.get<rivals::AutoOptions>().heldout = 15;
  step::Session s = small::session(c);
  const auto out = heldout_examples(c, 60);
  const auto weights =
      all_but_heldout_rule(c, {std::vector<float>(60), std::vector<double>(60), 1, 3});
  EXPECT_EQ(std::count(weights.begin(), weights.end(), 0.0F), 15);
  for (const int64_t i : out) EXPECT_EQ(weights[static_cast<size_t>(i)], 0);
  // The same examples, asked one by one in the data's order.
  const HeldOut held(s);
  const auto source = s.task->batches(c, task::Use::kTrainInOrder, at::kCPU);
  std::vector<at::Tensor> images(60), labels(60);
  for (int64_t b = 0; b < source->batches_per_epoch(); ++b) {
    const data::Batch batch = source->next();
    for (int64_t i = 0; i < batch.size(); ++i) {
      const auto at = static_cast<size_t>(batch.indices[static_cast<size_t>(i)]);
      images[at] = batch.images()[i];
      labels[at] = batch.labels()[i];
    }
  }
  std::vector<at::Tensor> x, y;
  for (const int64_t i : out) {
    x.push_back(images[static_cast<size_t>(i)]);
    y.push_back(labels[static_cast<size_t>(i)]);
  }
  const double got = held.loss(s);
  const double expected =
      at::cross_entropy_loss(s.net->run({at::stack(x)}).at(0), at::stack(y)).item<double>();
  EXPECT_NEAR(got, expected, 1e-5);
}

TEST(Undo, StepsLeaveNoTrace) {
  const config::RunConfig c = small::config("adagp");
  step::Session s = small::session(c);
  const auto method = find_method("adagp").make(s);
  const data::Batch batch = small::batch(c);
  method->full_step(s, batch);  // moments that are not zero
  const auto before = small::copy_of(*s.net);
  std::map<std::string, at::Tensor> moments;
  for (const auto& [name, moment] : s.optimizer->state()) moments[name] = moment.clone();
  {
    step::UndoScope undo(s);
    method->full_step(s, batch);
    method->cheap_step(s, batch);
    EXPECT_FALSE(at::equal(s.layers[0]->weight, before.at(s.layers[0]->path() + ".weight")));
    undo.end();
  }
  for (const auto& [name, value] : small::copy_of(*s.net)) {
    EXPECT_TRUE(at::equal(value, before.at(name))) << name;
  }
  for (const auto& [name, moment] : s.optimizer->state()) {
    EXPECT_TRUE(at::equal(moment, moments.at(name))) << name;
  }
}

TEST(Auto, AStateWithABrokenNumberIsRefusedByName) {
  config::RunConfig c = small::config("auto");
  c.parts.get<rivals::AutoOptions>().heldout = 15;
  c.parts.get<rivals::AutoOptions>().steps = {"skip"};
  step::Session s = small::session(c);
  const auto method = find_method("auto").make(s);
  for (const char* name : {"before", "after"}) {
    auto state = method->state();
    const at::Tensor& bytes = state.at("auto");
    const auto* first = bytes.const_data_ptr<uint8_t>();
    auto own = nlohmann::json::parse(first, first + bytes.numel());
    own[name] = "1.5 or so";
    const std::string text = own.dump();
    state["auto"] = at::tensor(std::vector<uint8_t>(text.begin(), text.end()));
    try {
      method->load_state(state);
      ADD_FAILURE() << name;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(name) + ": '1.5 or so'"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(WeightAverage, IsTheMeanWhileLookedAtAndGoneAfterwards) {
  const config::RunConfig c = small::config("bp");
  step::Session s = small::session(c);
  const auto weight = [&] { return s.layers[1]->weight.detach(); };
  WeightAverage average;
  at::Tensor sum = at::zeros_like(weight());
  const data::Batch batch = small::batch(c);
  for (int i = 0; i < 5; ++i) {
    step::backprop_step(s, batch);
    average.add(s);
    sum += weight();
  }
  const at::Tensor last = weight().clone();
  {
    WeightAverage::Scope scope(average, s);
    EXPECT_TRUE(at::allclose(weight(), sum / 5, 1e-5, 1e-7));
    scope.end();
  }
  EXPECT_TRUE(at::equal(weight(), last));
  WeightAverage other;
  other.load_state(s, average.state(s));
  EXPECT_EQ(other.count(), 5);
  const WeightAverage::Scope scope(other, s);
  EXPECT_TRUE(at::allclose(weight(), sum / 5, 1e-5, 1e-7));
}

}  // namespace
}  // namespace adagp::method
