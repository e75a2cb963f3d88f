#pragma once
// The optimizers behind make_optimizer(), one file each.

#include <memory>
#include <vector>

#include "adagp/engine/optim/optimizer.h"

namespace adagp::optim {

std::unique_ptr<Optimizer> make_sgd(std::vector<Param> params, const Config& config);
std::unique_ptr<Optimizer> make_adam(std::vector<Param> params, const Config& config);
// Its decay shrinks the weights and stays out of the moments.
std::unique_ptr<Optimizer> make_adamw(std::vector<Param> params, const Config& config);

}  // namespace adagp::optim
