#include "adagp/engine/data/stream/batch.h"

namespace adagp::data {

Batch Batch::part(int64_t begin, int64_t count) const {
  Batch out;
  for (const at::Tensor& x : inputs) out.inputs.push_back(x.narrow(0, begin, count));
  for (const at::Tensor& x : targets) out.targets.push_back(x.narrow(0, begin, count));
  if (examples.defined()) out.examples = examples.narrow(0, begin, count);
  if (weights.defined()) out.weights = weights.narrow(0, begin, count);
  return out;
}

}  // namespace adagp::data
