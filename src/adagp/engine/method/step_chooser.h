#pragma once
// Decisions on the way: for a method that chooses its steps while it trains.

#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/plan/batch_plan.h"
#include "adagp/engine/method/costs.h"
#include "adagp/engine/step/session.h"

namespace adagp::method {

class StepChooser {
 public:
  virtual ~StepChooser() = default;

  // The phase of the batch that begins now, and the end of one, which took so many multiplications.
  virtual schedule::Phase begin(step::Session& session, const plan::BatchContext& planned) = 0;
  virtual void end(step::Session& session, double macs) = 0;

  // Steps of one phase that do different work have different numbers.
  struct Kinds {
    int64_t exact = 0, cheap = 0;
  };
  virtual Kinds kinds() const = 0;
  // Number of kinds of cheap steps. The warm-up selects each of them once; -1 ends the warm-up.
  virtual int64_t cheap_kinds() const = 0;
  virtual void choose_for_warm_up(int64_t kind) = 0;

  // What it has to say since the last call, for metrics.jsonl.
  virtual std::vector<nlohmann::json> take_records() = 0;
  // Multiplications of other work since the last call.
  virtual double take_other_cost(const Costs& costs) = 0;
};

}  // namespace adagp::method
