#pragma once
// Keys that a user gave and that change nothing: another method, task, network or policy than the
// chosen one reads them.

#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"

namespace adagp::train {

struct GivenKey {
  std::string key;    // "predictor.kind"
  std::string where;  // "--set predictor.kind", "--schedule", "ADAGP_SCHEDULE"
};

// Why a run of this configuration does not read the key ("method bp"); empty: it does.
std::string why_unused(const config::RunConfig& config, const std::string& key);
// Why an evaluation does not read it.
std::string why_unused_in_evaluation(const config::RunConfig& config, const std::string& key);

// One sentence about those of the keys that none of the runs reads; empty when there is none.
using WhyUnused = std::string (*)(const config::RunConfig&, const std::string&);
std::string unused_keys(const std::vector<GivenKey>& given,
                        const std::vector<config::RunConfig>& runs, WhyUnused why = why_unused);

}  // namespace adagp::train
