#pragma once
// Which part of a list this process was given.

#include <string>

#include "adagp/lab/experiment/shared_list.h"

namespace adagp::experiment {

// "2/6". Throws UsageError.
void set_shard(Sharing& sharing, const std::string& text);
// From the variables of a task of a Slurm array; without them all of the list. Throws UsageError
// for an array whose numbers have gaps, and for what Slurm does not write.
void set_shard_from_slurm(Sharing& sharing);

}  // namespace adagp::experiment
