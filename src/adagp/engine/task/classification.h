#pragma once
// Images to one of several classes.

#include <memory>

#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/task/task.h"

namespace adagp::task {

// For data that is already open. Without `train` and `test` it still makes examples of the size:
// for measurements on random images.
std::shared_ptr<const Task> classification(data::Splits splits);

}  // namespace adagp::task
