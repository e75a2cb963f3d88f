#pragma once
// The predictor's error by layer and epoch (Fig. 15 of the paper), with what a falling MSE hides:
// MSE / mean(g^2), which is 1 for a prediction of zero, and the cosine with the true gradient.

#include <string>
#include <utility>
#include <vector>

#include "adagp/results/report/chart.h"
#include "adagp/results/report/run_files.h"

namespace adagp::report {

// A line for each layer: its first and its last probe. `note` is one sentence about all of them.
std::string probe_table(const std::vector<EpochHistory>& history, bool markdown);
std::string probe_note(const std::vector<EpochHistory>& history);
// {"layers": [{"epoch": [...], "mse": [...], and so "relative_mse", "cosine", "mape"}]}.
std::string probe_json(const std::vector<EpochHistory>& history);

// "<prefix>-mse", "-relative-mse" and "-cosine", a line for each layer over the epochs; none
// without probes.
std::vector<std::pair<std::string, LineChart>> probe_charts(
    const std::vector<EpochHistory>& history, const std::string& prefix, const std::string& title);
// "<prefix>-loss": the network's and the predictor's loss by epoch.
std::vector<std::pair<std::string, LineChart>> loss_charts(const std::vector<EpochHistory>& history,
                                                           const std::string& prefix,
                                                           const std::string& title);

}  // namespace adagp::report
