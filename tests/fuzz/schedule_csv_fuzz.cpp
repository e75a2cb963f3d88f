// Any text is either a DataError or one of PyTorch's schedules, which can be simulated and written
// again: what was written reads as the same lists.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/pipeline/simulate.h"
#include "adagp/sim/pipeline/torch_schedule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp::pipeline;
  Request request;
  try {
    request = parse_torch_schedule({reinterpret_cast<const char*>(bytes), count}, "fuzz.csv");
  } catch (const adagp::DataError&) {
    return 0;
  }
  const Placement placement = make_placement(request);
  const Costs costs = uniform_costs(placement, {});
  const double one = simulate(placement, costs, parse_phases("bp")).makespan;
  // Every device has its passes, and nobody works on two at once.
  if (one < 3.0 * placement.micro_batches * (1 - 1e-9)) std::abort();
  if (simulate(placement, costs, parse_phases("gp-bp")).makespan < one) std::abort();
  const std::string written = torch_schedule(placement);
  const Placement again = make_placement(parse_torch_schedule(written, "again.csv"));
  if (torch_schedule(again) != written) std::abort();
  if (simulate(again, costs, parse_phases("bp")).makespan != one) std::abort();
  return 0;
}
