// Whole networks against totals that were computed another way.
#include <gtest/gtest.h>

#include "adagp/sim/accel/cost.h"
#include "adagp/sim/accel/simulate.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

Plan plan_of(const layers::Table& table, int64_t batch) {
  PlanOptions options;
  options.batch = batch;
  return make_plan(table, options);
}

struct Total {
  const char* dataflow;
  int64_t cycles;
};

TEST(ResNet50, DemandCyclesOfAllLayersOn32x32) {
  const layers::Table table = test::resnet50();
  ASSERT_EQ(table.rows.size(), 54U);
  Accelerator accelerator;
  accelerator.array.rows = accelerator.array.columns = 32;
  const Plan plan = plan_of(table, 1);
  for (const Total& total : {Total{"ws", 6349260}, Total{"is", 6620640}, Total{"os", 5198904}}) {
    const InferenceResult result =
        simulate_inference(plan, accelerator, find_dataflow(total.dataflow));
    EXPECT_EQ(result.total.array, total.cycles) << total.dataflow;
    EXPECT_EQ(result.total.macs, layers::total_macs(table));
    EXPECT_EQ(result.total.stall, 0);
  }
}

struct Ratio {
  const char* dataflow;
  double resnet50, vgg13;
};

TEST(Training, BackwardOverForwardByThreeProducts) {
  const Accelerator accelerator;  // 12 x 15
  std::vector<LayerCost> layers;
  for (const Ratio& ratio :
       {Ratio{"ws", 2.04, 2.00}, Ratio{"is", 1.91, 1.86}, Ratio{"os", 1.95, 2.03}}) {
    const std::string name = ratio.dataflow;
    const Dataflow& dataflow = find_dataflow(name);
    evaluate(plan_of(test::resnet50(), 128), accelerator, dataflow, Scope::kBackprop, layers);
    EXPECT_NEAR(backward_over_forward(layers), ratio.resnet50, 0.01) << ratio.dataflow;
    evaluate(plan_of(test::vgg13_cifar(), 128), accelerator, dataflow, Scope::kBackprop, layers);
    EXPECT_NEAR(backward_over_forward(layers), ratio.vgg13, 0.01) << ratio.dataflow;
  }
}

}  // namespace
}  // namespace adagp::accel
