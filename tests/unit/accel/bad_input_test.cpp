// Every wrong size is refused with the layer, the value and the rule; nothing wraps around.
#include <gtest/gtest.h>

#include <limits>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/simulate.h"
#include "unit/accel/expect.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

using test::expect_has;

// The message of the exception of type E that `call` must throw.
template <typename E, typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

layers::Row good() {
  return test::conv("conv7", 16, 8, 32, 3, 1, 1);
}

std::string refused(const layers::Row& row, int64_t batch = 1) {
  return message_of<DataError>([&] { forward_work(row, batch); });
}

TEST(BadInput, SizesBelowOneNameTheLayerAndTheValue) {
  layers::Row row = good();
  row.input[1] = 0;
  expect_has(refused(row), "layer 'conv7': input height is 0, expected at least 1");
  row = good();
  row.output[0] = -4;
  expect_has(refused(row), "output channels is -4");
  row = good();
  row.stride[1] = 0;
  expect_has(refused(row), "stride 0");
  row = good();
  row.groups = 0;
  expect_has(refused(row), "groups is 0");
  expect_has(refused(good(), 0), "batch is 0");
}

TEST(BadInput, ShapesThatDoNotAgree) {
  layers::Row row = good();
  row.kernel = {11, 3};
  expect_has(refused(row), "filter 11 is larger than the padded input 10");
  row = good();
  row.groups = 3;
  expect_has(refused(row), "groups 3 do not divide the channels 16 and 32");
  row = good();
  row.output[2] = 9;
  expect_has(refused(row),
             "output width is 9, but input 8, filter 3, stride 1 and padding 1 give 8");
}

TEST(BadInput, ProductsBeyond64BitsAreRefusedNotWrapped) {
  layers::Row row = test::linear("huge", 1, 1);
  row.input[0] = row.output[0] = int64_t{1} << 40;
  expect_has(refused(row), "layer 'huge': ");
  expect_has(refused(row), "exceeds 64 bits");
  row = good();
  row.padding = {std::numeric_limits<int64_t>::max(), 1};
  expect_has(refused(row), "exceeds 64 bits");

  // Layers that fit one by one, and not together: 2^62 cycles each. A run that does not either.
  PlanOptions options;
  options.batch = int64_t{1} << 30;
  const int64_t side = 1 << 16;
  const Plan plan = make_plan(
      {"m", "i", {test::linear("a", side, side), test::linear("b", side, side)}}, options);
  Accelerator tiny;
  tiny.array.rows = tiny.array.columns = 1;
  expect_has(message_of<DataError>([&] { simulate_inference(plan, tiny, kWeightStationary); }),
             "exceeds 64 bits");
  const accel::Run run{schedule::Schedule::parse("bp", 1), int64_t{1} << 40, int64_t{1} << 40};
  expect_has(message_of<DataError>([&] { count_batches(run); }), "exceeds 64 bits");
}

TEST(BadInput, Tables) {
  const auto plan = [](const std::vector<layers::Row>& rows) {
    return message_of<DataError>([&] { make_plan({"net", "in", rows}, {}); });
  };
  expect_has(plan({}), "no layers");
  expect_has(plan({good(), good()}), "layer 'conv7': the name appears twice");
  layers::Row row = good();
  row.op = "batchnorm";
  expect_has(plan({row}), "op 'batchnorm' is unknown; did you mean 'batch_norm'");
  row = test::vector_row("pool", "pool", 4, 4);
  row.output[1] = 0;
  expect_has(plan({good(), row}), "layer 'pool': a size is 0");
}

TEST(BadInput, Options) {
  const layers::Table table = test::vgg13_cifar();
  PlanOptions options;
  options.batch = 0;
  expect_has(message_of<UsageError>([&] { make_plan(table, options); }), "batch is 0");
  options.batch = 1;
  options.predictor.kind = "sharde";
  expect_has(message_of<UsageError>([&] { make_plan(table, options); }), "did you mean 'shared'");
  options.predictor.kind = "shared";
  options.predictor.pooled = 9;
  expect_has(message_of<UsageError>([&] { make_plan(table, options); }),
             "predictor.pooled is 9, expected 1 to 8");
  expect_has(message_of<UsageError>([] { find_dataflow("wt"); }), "dataflow 'wt' is unknown");
  expect_has(message_of<UsageError>([] { count_batches({{}, 0, 5}); }), "0 epochs of 5 batches");
  expect_has(message_of<UsageError>([] { batches_of(50000, 0); }), "batches of 0");
}

TEST(Checked, ArithmeticAtTheEdge) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(mul(most, 1), most);
  EXPECT_EQ(add(most - 1, 1), most);
  EXPECT_THROW(mul(most / 2 + 1, 2), Overflow);
  EXPECT_THROW(add(most, 1), Overflow);
  EXPECT_THROW(mul(int64_t{1} << 31, int64_t{1} << 31, 2), Overflow);
  EXPECT_EQ(ceil_div(most, most), 1);
  EXPECT_EQ(ceil_div(most, 2), (most - 1) / 2 + 1);
  EXPECT_EQ(ceil_div(0, 3), 0);
}

}  // namespace
}  // namespace adagp::accel
