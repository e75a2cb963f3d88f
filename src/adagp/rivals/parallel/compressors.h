#pragma once
// compress.kind: what copies exchange of a gradient. One file each.

#include "adagp/teams/parallel/compressor.h"

namespace adagp::parallel {

std::unique_ptr<Compressor> make_top_k(const config::RunConfig& config, comm::Group& group,
                                       const std::vector<optim::Param>& params);
std::unique_ptr<Compressor> make_power_sgd(const config::RunConfig& config, comm::Group& group,
                                           const std::vector<optim::Param>& params);
std::unique_ptr<Compressor> make_sign(const config::RunConfig& config, comm::Group& group,
                                      const std::vector<optim::Param>& params);

CompressorEntry compressor_entry();

}  // namespace adagp::parallel
