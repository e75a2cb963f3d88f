// What becomes of a session whose state cannot be put back: an error, never the end of the process.

#include "adagp/engine/step/restoration.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/step/evaluate.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/observe.h"
#include "adagp/engine/step/predicted_step.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/step/undo.h"
#include "unit/train/small.h"

namespace adagp::step {
namespace {

void expect_refused(Session& s) {
  EXPECT_NE(s.broken, "");
  const data::Batch batch = small::batch(s.config);
  EXPECT_THROW(backprop_step(s, batch), Error);
  EXPECT_THROW(predicted_forward(s, batch), Error);
  const auto test = s.task->batches(s.config, task::Use::kTest, at::kCPU);
  EXPECT_THROW(evaluate(s, *test, nullptr, {}), Error);
  StepGraph graph("BP", false);
  EXPECT_THROW(graph.run(s, batch, [](const data::Batch&) { return StepResult(); }), Error);
}

TEST(Restoration, HappensOnceWhenItIsAskedForAndElseAtTheEnd) {
  Session s = small::session(small::config("bp"));
  int times = 0;
  {
    Restoration one(s, "it", [&] { ++times; });
    one.now();
    one.now();
    EXPECT_EQ(times, 1);
  }
  EXPECT_EQ(times, 1);
  {
    const Restoration other(s, "it", [&] { ++times; });
  }
  EXPECT_EQ(times, 2);
  s.check_intact();
}

TEST(Restoration, ThatFailsOnceIsAnErrorAndIsTriedAgain) {
  Session s = small::session(small::config("bp"));
  bool fails = true, done = false;
  {
    Restoration one(s, "it", [&] {
      if (fails) throw std::runtime_error("no memory");
      done = true;
    });
    EXPECT_THROW(one.now(), std::runtime_error);
    fails = false;
  }
  EXPECT_TRUE(done);
  s.check_intact();
}

TEST(Restoration, ThatFailsAtTheEndLeavesASessionThatRefusesSteps) {
  Session s = small::session(small::config("adagp"));
  {
    const Restoration one(s, "the thing", [] { throw std::runtime_error("no memory"); });
  }
  expect_refused(s);
  EXPECT_NE(s.broken.find("the thing could not be put back"), std::string::npos) << s.broken;
}

TEST(Restoration, OfARehearsalThatFailsIsAnError) {
  Session s = small::session(small::config("adagp"));
  at::Tensor buffer = s.net->buffers().at(0);
  const auto rehearse = [&] {
    UndoScope undo(s);
    buffer.resize_({buffer.numel() + 1});  // what was kept does not fit any more
    undo.end();
  };
  EXPECT_ANY_THROW(rehearse());
  expect_refused(s);
}

TEST(Restoration, OfARehearsalThatWasBrokenOffKeepsTheFirstError) {
  Session s = small::session(small::config("adagp"));
  at::Tensor buffer = s.net->buffers().at(0);
  const auto rehearse = [&] {
    const UndoScope undo(s);
    buffer.resize_({buffer.numel() + 1});
    throw DataError("image 7 is broken");
  };
  EXPECT_THROW(rehearse(), DataError);
  expect_refused(s);
}

// Its random state has the name of its rank: with another rank it is not found again.
struct ChangingTeam : SoloTeam {
  int rank() const override { return number; }
  int number = 1;
};

TEST(Restoration, OfABatchThatIsLookedAtThatFailsIsAnError) {
  Session s = small::session(small::config("adagp"));
  const auto team = std::make_shared<ChangingTeam>();
  s.team = team;
  const data::Batch batch = small::batch(s.config);
  const auto look = [&] { observe_batch(s, batch, *s.summaries, [&] { team->number = 0; }); };
  s.summaries->begin(1);
  EXPECT_THROW(look(), DataError);
  expect_refused(s);
}

}  // namespace
}  // namespace adagp::step
