// Backward products of some examples or channels: the same product of a smaller layer.

#include <gtest/gtest.h>

#include "adagp/sim/accel/dataflow/dataflow.h"
#include "adagp/sim/accel/work.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::arrays {
namespace {

layers::Row convolution(int64_t channels, int64_t filters, int64_t groups) {
  layers::Row row;
  row.name = "conv";
  row.op = "conv2d";
  row.input = {channels, 8, 8};
  row.output = {filters, 8, 8};
  row.kernel = {3, 3};
  row.padding = {1, 1};
  row.groups = groups;
  layers::complete(row);
  return row;
}

accel::Work work_of(const layers::Row& row, accel::Pass pass, int64_t batch) {
  const accel::Work forward = accel::forward_work(row, batch);
  if (pass == accel::Pass::kForward) return forward;
  return pass == accel::Pass::kInputGradient ? accel::input_gradient_work(forward, row)
                                             : accel::weight_gradient_work(forward, row);
}

accel::Operands kept(accel::Pass pass, double x, double dy) {
  accel::Operands out;
  out.left.density = pass == accel::Pass::kInputGradient ? dy : x;
  if (pass == accel::Pass::kWeightGradient) out.right.density = dy;
  return out;
}

void expect_costs_as(const Machine& machine, const layers::Row& row, int64_t batch, double x,
                     double dy, accel::Pass pass, const layers::Row& smaller, int64_t examples) {
  for (const char* dataflow : {"ws", "is", "os", "rs"}) {
    accel::Accelerator a;
    a.dataflow = dataflow;
    const accel::Work whole = work_of(row, pass, batch);
    const auto got = machine.cost({row, whole, batch}, kept(pass, x, dy), a);
    const auto want = accel::product_cost(work_of(smaller, pass, examples), a.array,
                                          accel::find_dataflow(dataflow), a);
    EXPECT_EQ(got.array, want.array) << dataflow;
    EXPECT_EQ(got.macs, want.macs) << dataflow;
    EXPECT_EQ(got.dram_reads, want.dram_reads) << dataflow;
    EXPECT_EQ(got.dram_writes, want.dram_writes) << dataflow;
  }
}

using accel::Pass;

TEST(Sampled, ExamplesThatAreLeftOutCostNothing) {
  for (const int64_t groups : {1, 2}) {
    const layers::Row row = convolution(12, 20, groups);
    // 10 examples, dY of 4; of these 2 for the weight gradient.
    expect_costs_as(kSampledExamples, row, 10, 0.5, 0.4, Pass::kForward, row, 10);
    expect_costs_as(kSampledExamples, row, 10, 0.5, 0.4, Pass::kInputGradient, row, 4);
    expect_costs_as(kSampledExamples, row, 10, 0.5, 0.4, Pass::kWeightGradient, row, 2);
  }
}

TEST(Sampled, AtLeastOneExampleStays) {
  const layers::Row row = convolution(4, 4, 1);
  expect_costs_as(kSampledExamples, row, 3, 0, 0, Pass::kInputGradient, row, 1);
  expect_costs_as(kSampledExamples, row, 3, 0, 0, Pass::kWeightGradient, row, 1);
}

// 0.7 of dY is zeros: 3 of 10 examples, 6 of 20 channels.
TEST(Sampled, RoundingKeepsNoneMore) {
  const layers::Row row = convolution(12, 20, 1);
  expect_costs_as(kSampledExamples, row, 10, 1, 1 - 0.7, Pass::kInputGradient, row, 3);
  expect_costs_as(kSampledChannels, row, 5, 1, 1 - 0.7, Pass::kInputGradient, convolution(12, 6, 1),
                  5);
}

TEST(Sampled, ChannelsThatAreLeftOutCostNothing) {
  const layers::Row row = convolution(12, 20, 1);
  const layers::Row smaller = convolution(12, 8, 1);
  expect_costs_as(kSampledChannels, row, 5, 1, 0.4, Pass::kForward, row, 5);
  expect_costs_as(kSampledChannels, row, 5, 1, 0.4, Pass::kInputGradient, smaller, 5);
  expect_costs_as(kSampledChannels, row, 5, 1, 0.4, Pass::kWeightGradient, smaller, 5);
}

TEST(Sampled, DepthwiseLayersLeaveOutGroups) {
  const layers::Row row = convolution(20, 20, 20);
  const layers::Row smaller = convolution(8, 8, 8);
  expect_costs_as(kSampledChannels, row, 5, 1, 0.4, Pass::kInputGradient, smaller, 5);
  expect_costs_as(kSampledChannels, row, 5, 1, 0.4, Pass::kWeightGradient, smaller, 5);
}

}  // namespace
}  // namespace adagp::arrays
