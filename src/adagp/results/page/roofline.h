#pragma once
// Rooflines: what a piece of work computes for each word it moves, and how fast, below what the
// array and the memory allow.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/results/page/parts.h"

namespace adagp::page {

// Of one run of `simulate --per-layer --json`: a point for each layer and pass. Says whether the
// run has what it takes.
bool add_layer_roofline(Page& page, const nlohmann::json& run, const std::string& name,
                        const std::string& id);
// Of several such runs: a point for each run and pass, all its layers together.
void add_sweep_roofline(Page& page, const std::vector<nlohmann::json>& runs,
                        const std::vector<std::string>& names, const std::string& id);

}  // namespace adagp::page
