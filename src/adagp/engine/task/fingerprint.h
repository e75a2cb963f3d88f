#pragma once
// A short text by which other data is noticed.

#include <string>

#include "adagp/engine/task/task.h"

namespace adagp::task {

// "50000+10000 images, 1f2e3d4c": the numbers of examples, and a checksum of some batches spread
// over both splits. Equal data gives equal texts on every machine; an example that is not in these
// batches may change unnoticed. Empty when an example cannot be read: training will say why.
std::string fingerprint(const Task& task, const config::RunConfig& config);

}  // namespace adagp::task
