#pragma once
// The sections of a report. Each adds nothing when it has nothing to say. `id` begins the ids of
// its elements.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/results/page/page.h"
#include "adagp/results/page/parts.h"

namespace adagp::page {

// Seeds of one method, length and batch size: the runs whose folders' names differ in their seeds.
struct Family {
  std::string label;
  std::vector<const report::RunFiles*> runs;
};
std::vector<Family> families_of(const Group& group);
// By which the group's runs are compared: their summaries' metric, or the first test figure.
report::Metric metric_of(const Group& group);

void add_verdict(Page& page, const Group& group, const std::string& id);    // table, intervals
void add_budget(Page& page, const Group& group, const std::string& id);     // time to accuracy
void add_curves(Page& page, const Group& group, const std::string& id);     // learning curves
void add_seconds(Page& page, const Group& group, const std::string& id);    // where they went
void add_predictor(Page& page, const Group& group, const std::string& id);  // quality by layer
void add_decisions(Page& page, const Group& group, const std::string& id);  // of method auto
void add_traces(Page& page, const Group& group, const std::string& id);     // zeros by layer
void add_settings(Page& page, const Group& group, const std::string& id);   // what differs
void add_commands(Page& page, const Group& group, const std::string& id);   // environment, commands
void add_simulation(Page& page, const Results& results, const std::string& id);
void add_pipelines(Page& page, const Results& results, const std::string& id);

// Rooflines: what a piece of work computes for each word it moves, and how fast, below what the
// array and the memory allow.

// Of one run of `simulate --per-layer --json`: a point for each layer and pass. Says whether the
// run has what it takes.
bool add_layer_roofline(Page& page, const nlohmann::json& run, const std::string& name,
                        const std::string& id);
// Of several such runs: a point for each run and pass, all its layers together.
void add_sweep_roofline(Page& page, const std::vector<nlohmann::json>& runs,
                        const std::vector<std::string>& names, const std::string& id);

}  // namespace adagp::page
