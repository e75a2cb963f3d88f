#pragma once
// PyTorch's CSV of a pipeline schedule (torch.distributed.pipelining, format "compute_only"): a
// line per device, cells such as 0F3 (stage 0, forward, micro-batch 3), B (backward), I and W (its
// halves).

#include <string>
#include <string_view>

#include "adagp/sim/pipeline/schedules.h"

namespace adagp::pipeline {

// The schedule of such a file, with its devices, stages and micro-batches; `name` is what results
// call it. A GP batch has its forward passes; a batch with more micro-batches is several of the
// file's. Cells that are empty or say REDUCE_GRAD are left out, OVERLAP_F_B is its two passes one
// after the other. Throws DataError naming line and cell for anything else, for what is missing or
// twice, and for an order that never ends.
Request parse_torch_schedule(std::string_view text, const std::string& name);

// The passes of one BP batch. UsageError for replicas, which PyTorch does not have.
std::string torch_schedule(const Placement& placement);

}  // namespace adagp::pipeline
