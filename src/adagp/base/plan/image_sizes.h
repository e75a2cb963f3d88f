#pragma once
// Smaller images in a part of the batches, with more of them in a batch. No torch here.

#include "adagp/base/config/run_config.h"
#include "adagp/base/plan/batch_plan.h"

namespace adagp::plan {

// What the data have: the side of their square images, and how many there are to train on.
struct ImageSet {
  int64_t side = 0, examples = 0;
};

// Both plans throw UsageError naming the key for sizes and shares that cannot be.

// GP batches have images of the first of low_res.sizes.
BatchPlan low_res_plan(const config::RunConfig& config, const ImageSet& images);
// The run begins with the first of low_res.sizes and ends with the last.
BatchPlan progressive_plan(const config::RunConfig& config, const ImageSet& images);

}  // namespace adagp::plan
