// Every classifier of the registry takes a BP and a GP step, and a GP step moves exactly the
// parameters that the coverage says.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/task/classification.h"
#include "small.h"

namespace adagp::train {
namespace {

struct ZooCase {
  std::string model, form;
  int64_t divisor, side;
};

std::string name_of(const ::testing::TestParamInfo<ZooCase>& info) {
  return info.param.model + "_" + info.param.form;
}

// As slim as the network's widths allow, on the smallest images it takes.
std::vector<ZooCase> cases() {
  std::vector<ZooCase> out;
  for (const auto& entry : models::registry()) {
    if (entry.task != models::TaskKind::kClassification) continue;
    const bool slim = entry.default_form == models::Form::kCifar;
    out.push_back({entry.name, "cifar", slim ? 2 : 8, 32});
  }
  out.push_back({"inception_v3", "imagenet", 8, 299});  // with its auxiliary head
  return out;
}

class Zoo : public ::testing::TestWithParam<ZooCase> {};

TEST_P(Zoo, TakesBothKindsOfSteps) {
  const ZooCase& given = GetParam();
  config::RunConfig c = small::config("adagp");
  c.model.name = given.model;
  c.model.form = given.form;
  c.model.width_divisor = given.divisor;
  data::Splits splits;
  splits.height = splits.width = given.side;
  splits.classes.resize(10);
  const task::TaskPtr task = task::classification(splits);
  std::shared_ptr<models::Net> net;
  try {
    net = task::build_net(c, *task);
  } catch (const UsageError&) {  // no such divisor of its widths
    c.model.width_divisor = 1;
    net = task::build_net(c, *task);
  }
  step::Session s = step::make_session(c, task, net);
  s.net->train();
  s.set_lr(0.01);
  step::add_summaries(s);
  step::add_predictor(s, 6);
  const auto method = method::find_method("adagp").make(s);
  const data::Batch batch = task->example(c, 4, at::kCPU);

  const auto start = small::copy_of(*s.net);
  const step::StepResult exact = method->full_step(s, batch);
  ASSERT_TRUE(at::isfinite(exact.loss).item<bool>());
  const auto before = small::copy_of(*s.net);
  for (const auto& item : s.net->named_parameters()) {
    EXPECT_TRUE(at::isfinite(item.value()).all().item<bool>()) << item.key();
  }
  EXPECT_FALSE(at::equal(start.at(s.layers[0]->path() + ".weight"),
                         before.at(s.layers[0]->path() + ".weight")));

  const step::StepResult cheap = method->cheap_step(s, batch);
  ASSERT_TRUE(at::isfinite(cheap.loss).item<bool>());
  const auto after = small::copy_of(*s.net);
  for (const auto& row : layers::coverage(*s.net, "predicted")) {
    const bool moved = !at::equal(before.at(row.name), after.at(row.name));
    EXPECT_EQ(moved, row.treatment == "predicted") << row.name;
    EXPECT_TRUE(at::isfinite(after.at(row.name)).all().item<bool>()) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Zoo, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace adagp::train
