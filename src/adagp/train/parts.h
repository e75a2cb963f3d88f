#pragma once
// A batch that is worked on in micro-batches.

#include <vector>

#include "adagp/data/batch.h"
#include "adagp/models/model.h"

namespace adagp::train {

// `count` parts as equal as can be; fewer when there are not so many examples.
std::vector<data::Batch> in_parts(const data::Batch& batch, int64_t count);

// Puts the outputs of one part behind those of the parts before.
void append(models::Tensors& all, const models::Tensors& part);

}  // namespace adagp::train
