#include "adagp/sim/arrays/law.h"

namespace adagp::arrays {

double combined_speedup(const RelativePasses& c, double alpha, double share) {
  const double backward = c.input_gradient + c.weight_gradient;
  return (c.forward + backward) / (c.forward + alpha + (1 - share) * (backward + 2 * alpha));
}

}  // namespace adagp::arrays
