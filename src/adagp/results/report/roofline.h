#pragma once
// How far a step is from the limit of the machine: max(FLOPs / rate, bytes / bandwidth) of each
// piece of work, beside the time that was measured. Torch-free.

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/results/report/chart.h"
#include "adagp/results/report/step_work.h"

namespace adagp::report {

struct MachineLimits {
  double flops = 0;    // per second, of a large matrix product in the run's precision
  double bytes = 0;    // per second, read and written by a copy
  bool given = false;  // at least one of them by the user, not measured
  // What the measured product computed in: fp32, bf16, or tf32 where convolutions in fp32 may use
  // it. Linear layers do not: their share of that limit is lower than it would be against their
  // own.
  std::string product = "given";
};

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct KindTotal {
  double flops = 0, bytes = 0;
  double limit = 0;                // seconds
  double measured = kNotMeasured;  // seconds
};

struct StepRoofline {
  Step step = Step::kForward;
  std::array<KindTotal, kKinds> kinds{};
  double measured = kNotMeasured;  // seconds of the step

  KindTotal total() const;                                   // its `measured` is the step's
  double share() const { return total().limit / measured; }  // of the limit that is reached
};

struct Roofline {
  std::string model, input, precision, device;
  int64_t batch = 1;
  MachineLimits limits;
  std::vector<StepRoofline> steps;
  std::vector<std::string> missing;  // not_counted()
};

// Sums by kind, without measured times.
StepRoofline at_limit(Step step, const std::vector<Work>& work, const MachineLimits& limits);

// One network: a table by step and kind. Several: a line for each network and step.
std::string roofline_text(const std::vector<Roofline>& all);
// A line for each network, step and kind ("all" is the whole step).
std::string roofline_csv(const std::vector<Roofline>& all);
// A line for each network and step; the kinds are columns of "limit / measured" ms.
std::string roofline_markdown(const std::vector<Roofline>& all);
nlohmann::json roofline_json(const std::vector<Roofline>& all);
// Limit and measured time by kind: of all steps of one network, of the BP step of several.
BarChart roofline_chart(const std::vector<Roofline>& all);

}  // namespace adagp::report
