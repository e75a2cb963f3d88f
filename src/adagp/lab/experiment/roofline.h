#pragma once
// How far the steps of networks are from the limit of this machine.

#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/results/report/roofline.h"

namespace adagp::experiment {

// Every network of the registry that classifies images: the others take another input.
std::vector<std::string> roofline_models();

// The steps of each network on made-up data, as bench() takes it. `models` empty: the one of
// `config`. `given`: limits that are known (above 0); the others are measured. Times are
// measured by kind of work, too. Of several networks one that cannot be measured (memory, say) is
// left out with a warning.
std::vector<report::Roofline> roofline(const config::RunConfig& config, const std::string& input,
                                       int repeats, const std::vector<std::string>& models,
                                       const report::MachineLimits& given = {});

}  // namespace adagp::experiment
