// What is said when a step does not fit into the memory, and what is not touched.

#include "adagp/engine/step/out_of_memory.h"

#include <new>
#include <stdexcept>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/step/team.h"
#include "unit/train/small.h"

namespace adagp::step {
namespace {

// As LibTorch's allocator of the host says it: 3 GiB.
c10::Error failed_on_the_host() {
  return {c10::SourceLocation{__func__, __FILE__, __LINE__},
          "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate "
          "memory: you tried to allocate 3221225472 bytes. Error code 12 (Cannot allocate memory)"};
}

c10::OutOfMemoryError failed_on_a_gpu() {
  return {c10::SourceLocation{__func__, __FILE__, __LINE__}, "CUDA out of memory."};
}

StepResult never_run(const data::Batch&) {
  ADD_FAILURE() << "the step was tried on a part of the batch";
  return {};
}

// The message of the Error that comes of `failure`; "" when it came through as it was.
template <typename Failure>
std::string said_after(const Failure& failure, const config::RunConfig& config,
                       const std::string& phase, const data::Batch& batch,
                       const StepGraph::Step& step = never_run) {
  Session session = small::session(config);
  try {
    run_in_memory(session, phase, batch, step, [&]() -> StepResult { throw failure; });
  } catch (const Error& error) {
    return error.what();
  } catch (const Failure& same) {
    EXPECT_STREQ(same.what(), failure.what());
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is not in '" << text << "'";
  }
}

TEST(OutOfMemory, OfTheHostNamesPhaseBatchSizeAndWhatToLower) {
  config::RunConfig c = small::config();
  c.batch = 12;
  for (const char* phase : {"BP", "GP"}) {
    const std::string said = said_after(failed_on_the_host(), c, phase, small::batch(c));
    expect_words(said, {std::string("out of memory in a ") + phase + " step of batch 12: ",
                        "3.0 GiB more are needed", "--batch 6 or less",
                        "--set accumulate=2 or more", "a smaller network"});
    EXPECT_EQ(said.find("enforce"), std::string::npos) << said;
    EXPECT_EQ(said.find("GPU"), std::string::npos) << said;
  }
}

TEST(OutOfMemory, ThatDoesNotTellHowMuchIsToldWithoutANumber) {
  const config::RunConfig c = small::config();
  const std::string said = said_after(std::bad_alloc(), c, "BP", small::batch(c));
  EXPECT_EQ(said.find("out of memory in a BP step of batch 10; use a smaller batch"), 0U) << said;
}

TEST(OutOfMemory, OfOneExampleAdvisesNoSmallerBatch) {
  config::RunConfig c = small::config();
  c.batch = 1;
  for (const char* phase : {"BP", "evaluation"}) {
    const std::string said = said_after(std::bad_alloc(), c, phase, small::batch(c));
    expect_words(said, {"step of batch 1; use a smaller network or smaller images"});
    EXPECT_EQ(said.find("or less"), std::string::npos) << said;
  }
}

TEST(OutOfMemory, InAnEvaluationSpeaksOfItsOwnBatch) {
  const config::RunConfig c = small::config();
  const std::string said = said_after(std::bad_alloc(), c, "evaluation", small::batch(c));
  expect_words(said, {"in an evaluation step of batch 10", "--set eval_batch=5 or less"});
  EXPECT_EQ(said.find("accumulate"), std::string::npos) << said;
  EXPECT_EQ(said.find("--batch "), std::string::npos) << said;
}

TEST(OutOfMemory, ProposesMicroBatchesThatDivideTheBatch) {
  config::RunConfig c = small::config();
  const auto said = [&](int64_t batch, int64_t accumulate) {
    c.batch = batch;
    c.accumulate = accumulate;
    return said_after(std::bad_alloc(), c, "BP", small::batch(c));
  };
  expect_words(said(12, 3), {"--set accumulate=6 or more"});
  expect_words(said(9, 1), {"--set accumulate=3 or more"});
  expect_words(said(7, 1), {"--set accumulate=7 or more"});
  expect_words(said(12, 2), {"--set accumulate=4 or more"});
  // Every example is on its own already.
  EXPECT_EQ(said(1, 1).find("accumulate"), std::string::npos);
}

TEST(OutOfMemory, OtherErrorsComeThroughAsTheyAre) {
  const config::RunConfig c = small::config();
  const data::Batch batch = small::batch(c);
  EXPECT_EQ(said_after(std::runtime_error("sizes do not match"), c, "BP", batch), "");
  Session session = small::session(c);
  const auto broken = [&]() -> StepResult { throw DataError("image 7 is broken"); };
  EXPECT_THROW(run_in_memory(session, "BP", batch, never_run, broken), DataError);
  // A stage in the middle of a pipeline has no batch to speak of.
  EXPECT_EQ(said_after(std::bad_alloc(), c, "BP", {}), "");
  EXPECT_EQ(said_after(failed_on_a_gpu(), c, "BP", {}), "");
}

TEST(OutOfMemory, AStepThatFitsIsHandedOn) {
  const config::RunConfig c = small::config();
  Session session = small::session(c);
  const StepResult result = run_in_memory(session, "BP", small::batch(c), never_run, [] {
    StepResult made;
    made.loss = at::full({}, 3.5);
    made.phase = schedule::Phase::kPredict;
    return made;
  });
  EXPECT_EQ(result.loss.item<double>(), 3.5);
  EXPECT_EQ(result.phase, schedule::Phase::kPredict);
}

// What can be tested of a GPU's memory without one: which parts are tried, and that each is tried
// without what the one before it left. How much is free is not known here.
TEST(OutOfMemory, OfAGpuTriesHalvesUntilOneFits) {
  config::RunConfig c = small::config();
  c.batch = 12;
  Session session = small::session(c);
  const at::Tensor& weight = session.layers.at(0)->weight;
  std::vector<int64_t> tried;
  const auto step = [&](const data::Batch& part) -> StepResult {
    tried.push_back(part.size());
    EXPECT_FALSE(weight.grad().defined()) << part.size();
    weight.mutable_grad() = at::ones_like(weight.detach());
    if (part.size() > 3) throw failed_on_a_gpu();
    return {};
  };
  try {
    run_in_memory(session, "GP", small::batch(c), step,
                  [&]() -> StepResult { throw failed_on_a_gpu(); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    expect_words(error.what(), {"out of GPU memory in a GP step of batch 12"});
  }
  EXPECT_EQ(tried, (std::vector<int64_t>{6, 3}));
  EXPECT_FALSE(weight.grad().defined());
}

// Trials would need the other processes.
TEST(OutOfMemory, OfAGpuTriesNothingWhereOthersTakePart) {
  struct NotAlone : SoloTeam {
    bool solo() const override { return false; }
  };
  config::RunConfig c = small::config();
  Session session = small::session(c);
  session.team = std::make_shared<NotAlone>();
  try {
    run_in_memory(session, "BP", small::batch(c), never_run,
                  [&]() -> StepResult { throw failed_on_a_gpu(); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    expect_words(error.what(), {"out of GPU memory in a BP step of batch 10", "more processes",
                                "--set accumulate=", "--batch"});
  }
}

}  // namespace
}  // namespace adagp::step
