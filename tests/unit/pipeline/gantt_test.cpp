// The picture as text, against one drawn by hand.

#include "adagp/sim/pipeline/gantt.h"

#include <gtest/gtest.h>

#include "adagp/sim/pipeline/simulate.h"

namespace adagp::pipeline {
namespace {

std::string drawn(const std::string& schedule, int micro, const std::string& phases,
                  StageCost cost = {}) {
  const Placement placement = make_placement({schedule, 2, micro});
  std::vector<Event> events;
  SimulateOptions options;
  options.on_event = [&](const Event& event) { events.push_back(event); };
  simulate(placement, uniform_costs(placement, cost), parse_phases(phases), options);
  return gantt_text(events, 2);
}

TEST(PipelineGantt, TwoStagesByHand) {
  EXPECT_EQ(drawn("gpipe", 2, "bp"),
            "device 0  F0 F1 .. .. .. B1 B1 B0 B0\n"
            "device 1  .. F0 F1 B1 B1 B0 B0 .. ..\n");
  EXPECT_EQ(drawn("zero-bubble", 2, "bp"),
            "device 0  F0 F1 .. I0 W0 I1 W1\n"
            "device 1  .. F0 I0 F1 I1 W0 W1\n");
  StageCost cost;
  cost.predict_update = 1;
  EXPECT_EQ(drawn("dapple", 2, "gp", cost),
            "device 0  G0 G1 P  ..\n"
            "device 1  .. G0 G1 P\n");
}

TEST(PipelineGantt, NothingThatTakesTime) {
  EXPECT_EQ(gantt_text({}, 2), "");
}

}  // namespace
}  // namespace adagp::pipeline
