#pragma once
// A batch that is worked on in micro-batches.

#include <vector>

#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/models/model.h"

namespace adagp::step {

// `count` parts as equal as can be; fewer when there are not so many examples.
std::vector<data::Batch> micro_batches(const data::Batch& batch, int64_t count);

// Puts the outputs of one part behind those of the parts before.
void append(models::Tensors& all, const models::Tensors& part);

}  // namespace adagp::step
