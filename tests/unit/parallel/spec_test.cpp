#include "adagp/teams/parallel/spec.h"

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::parallel {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_spec(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string shape_refusal(const std::string& text, int world) {
  try {
    shape_of(parse_spec(text), world);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Spec, EveryWordArrives) {
  const Spec spec = parse_spec(
      "data, pipeline=interleaved,stages=2,micro-batches=8,chunks=3,local=4,timeout=2.5,"
      "backend=gloo,sync-norm,predict=gradients,recompute,copy-bandwidth=1e6,copy-latency=0.01");
  EXPECT_TRUE(spec.data);
  EXPECT_EQ(spec.pipeline, "interleaved");
  EXPECT_EQ(spec.stages, 2);
  EXPECT_EQ(spec.micro_batches, 8);
  EXPECT_EQ(spec.chunks, 3);
  EXPECT_EQ(spec.local, 4);
  EXPECT_EQ(spec.timeout, 2.5);
  EXPECT_EQ(spec.backend, "gloo");
  EXPECT_TRUE(spec.sync_norm);
  EXPECT_EQ(spec.predict, "gradients");
  EXPECT_TRUE(spec.recompute);
  EXPECT_EQ(spec.copy_bandwidth, 1e6);
  EXPECT_EQ(spec.copy_latency, 0.01);
}

TEST(Spec, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_TRUE(contains(refusal("data,recompute"), "'recompute' is of a pipeline"));
  EXPECT_TRUE(contains(refusal("pipeline=gpipe,copy-latency=1"), "'copy-latency' is for copies"));
  EXPECT_TRUE(contains(refusal("data,backend=nccl,copy-latency=1"), "use backend=gloo"));
  EXPECT_TRUE(contains(refusal("data,backend=nccl,copy-bandwidth=1e6"), "use backend=gloo"));
  EXPECT_TRUE(contains(refusal("data,copy-bandwidth=0"), "copy-bandwidth='0'"));
  EXPECT_TRUE(contains(refusal("data,copy-bandwidth=nan"), "copy-bandwidth='nan'"));
  // The time of an exchange would be no time that a clock can count.
  EXPECT_TRUE(contains(refusal("data,copy-bandwidth=1e-300"), "is no number from 1 to 1e+15"));
  for (const char* word : {"data,stages=2", "micro-batches=2", "recompute", "timings=ops"}) {
    EXPECT_TRUE(contains(refusal(std::string("pipeline=decoupled,") + word), "decoupled")) << word;
  }
}

TEST(Spec, NothingIsNothing) {
  EXPECT_FALSE(parse_spec("").any());
  EXPECT_FALSE(parse_spec("  ").any());
  EXPECT_EQ(parse_spec("data").timeout, 60);
  EXPECT_EQ(parse_spec("data,timeout=90s").timeout, 90);
}

TEST(Spec, WrongWordsAreNamedWithTheNearest) {
  EXPECT_TRUE(contains(refusal("dta"), "did you mean 'data'?"));
  EXPECT_TRUE(contains(refusal("pipeline=gpip"), "did you mean 'gpipe'?"));
  EXPECT_TRUE(contains(refusal("data,microbatches=2"), "did you mean 'micro-batches'?"));
  EXPECT_TRUE(contains(refusal("data,backend=mpi"), "auto, gloo, nccl"));
  EXPECT_TRUE(contains(refusal("data,predict=summary"), "summaries"));
  EXPECT_TRUE(contains(refusal("data,,local=2"), "empty part"));
  EXPECT_TRUE(contains(refusal("data,data"), "twice"));
  EXPECT_TRUE(contains(refusal("data=yes"), "takes no value"));
  EXPECT_TRUE(contains(refusal("pipeline"), "pipeline=gpipe"));
  EXPECT_TRUE(contains(refusal("pipeline="), "needs a value"));
}

TEST(Spec, NumbersHaveARange) {
  for (const char* text :
       {"data,local=0", "data,local=-1", "data,local=2.5", "data,local=x",
        "data,local=99999999999999999999", "data,local=5000", "pipeline=gpipe,micro-batches=0"}) {
    EXPECT_TRUE(contains(refusal(text), "is no whole number from 1 to ")) << text;
  }
  for (const char* text : {"data,timeout=0", "data,timeout=-3", "data,timeout=nan",
                           "data,timeout=inf", "data,timeout=1h"}) {
    EXPECT_TRUE(contains(refusal(text), "seconds from 0.1 to 86400")) << text;
  }
}

TEST(Spec, WhatDoesNotGoTogether) {
  EXPECT_TRUE(contains(refusal("data,stages=2"), "add pipeline="));
  EXPECT_TRUE(contains(refusal("data,micro-batches=2"), "add pipeline="));
  EXPECT_TRUE(contains(refusal("pipeline=gpipe,chunks=2"), "pipeline=interleaved"));
  // Only simulated.
  EXPECT_TRUE(contains(refusal("pipeline=zb-v"), "unknown pipeline 'zb-v'"));
  EXPECT_TRUE(contains(refusal("pipeline=gpipe,sync-norm"), "add 'data'"));
  EXPECT_TRUE(contains(refusal("pipeline=gpipe,predict=summaries"), "add 'data'"));
  EXPECT_TRUE(contains(refusal("local=4"), "add 'data', pipeline=gpipe or both"));
  EXPECT_TRUE(contains(refusal("data,pipeline=gpipe"), "stages=2"));
  EXPECT_TRUE(contains(refusal("data,pipeline=gpipe,stages=3,local=4"), "4 processes"));
}

TEST(Spec, ShapeOfTheProcesses) {
  const auto shape = [](const std::string& text, int world) {
    const Shape made = shape_of(parse_spec(text), world);
    return std::pair(made.copies, made.stages);
  };
  EXPECT_EQ(shape("", 1), std::pair(1, 1));
  EXPECT_EQ(shape("data", 4), std::pair(4, 1));
  EXPECT_EQ(shape("pipeline=gpipe", 4), std::pair(1, 4));
  EXPECT_EQ(shape("pipeline=gpipe,stages=4", 4), std::pair(1, 4));
  EXPECT_EQ(shape("data,pipeline=gpipe,stages=2", 6), std::pair(3, 2));
  EXPECT_EQ(shape("data,pipeline=gpipe,stages=2", 2), std::pair(1, 2));
}

TEST(Spec, ProcessesThatDoNotDivideAreRefusedWithTheNumbers) {
  EXPECT_TRUE(contains(shape_refusal("", 2), "2 processes and nothing"));
  EXPECT_TRUE(contains(shape_refusal("data,pipeline=gpipe,stages=4", 6),
                       "6 processes cannot be divided into pipelines of 4 stages"));
  EXPECT_TRUE(contains(shape_refusal("pipeline=gpipe,stages=2", 1), "1 process cannot be divided"));
  EXPECT_TRUE(contains(shape_refusal("pipeline=gpipe,stages=2", 4),
                       "4 processes are 2 pipelines of 2 stages: add 'data'"));
}

TEST(Spec, HelpHasEveryWordOnce) {
  const std::string help = "\n" + spec_help();
  for (const char* word : {"data:", "pipeline=", "stages=", "micro-batches=", "chunks=", "local=",
                           "timeout=", "backend=", "sync-norm:", "predict="}) {
    const size_t found = help.find(std::string("\n") + word);
    ASSERT_NE(found, std::string::npos) << word;
    EXPECT_EQ(help.find(std::string("\n") + word, found + 1), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace adagp::parallel
