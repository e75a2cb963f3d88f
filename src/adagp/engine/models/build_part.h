#pragma once
// A network of which a process holds a part.

#include <functional>
#include <memory>
#include <string>

#include "adagp/engine/models/model.h"

namespace adagp::models {

// Of the full name of a parameter: whether its values are wanted.
using Wanted = std::function<bool(const std::string&)>;

// What build() makes, bit for bit, without the values of matrices and kernels that are not wanted
// (nn/values_elsewhere.h): these are never in memory.
std::shared_ptr<Net> build_part(const std::string& name, const Options& options,
                                const Wanted& wanted);

// What build() makes, as shapes alone.
std::shared_ptr<Net> build_shapes(const std::string& name, const Options& options);

}  // namespace adagp::models
