#include "adagp/engine/step/micro_batches.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace adagp::step {

std::vector<data::Batch> micro_batches(const data::Batch& batch, int64_t count) {
  if (count <= 1) return {batch};
  const int64_t size = batch.size();
  const int64_t each = (size + count - 1) / count;
  std::vector<data::Batch> parts;
  for (int64_t begin = 0; begin < size; begin += each) {
    parts.push_back(batch.part(begin, std::min(each, size - begin)));
  }
  return parts;
}

void append(models::Tensors& all, const models::Tensors& part) {
  if (all.empty()) all.resize(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    all[i] = all[i].defined() ? at::cat({all[i], part[i].detach()}) : part[i].detach();
  }
}

}  // namespace adagp::step
