#pragma once
// Published tables beside ours: the runs they need, resumable over many calls.

#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/files.h"
#include "adagp/lab/experiment/run_list.h"

namespace adagp::experiment {

struct ReproduceOptions {
  std::string networks;  // names with commas; empty: those of the target
  int64_t seeds = 3;     // the configuration's seed and those after it
  bool quick = false;    // the smallest part that shows something
  core::fs::path folder;
  bool overwrite = false;
  Sharing sharing{};
};

struct Reproduced {
  std::string text, json;  // for stdout
  std::vector<std::string> files;
  size_t open = 0;  // runs that the time did not suffice for, or that other processes have
};

// Each trains what is not finished yet below the folder and keeps its files there up to date; the
// same call goes on. `config`: the recipe of the source and what the user changed of it.
//
// Table 1 of the paper: networks x (bp, adagp, skip) x seeds -> table1.md, .json, .csv, .svg.
Reproduced reproduce_table1(const config::RunConfig& config, const ReproduceOptions& options);
// Fig. 15 of the paper from runs of adagp (first seed), and the simulators' figures ->
// figures.md, *.svg.
Reproduced reproduce_figures(const config::RunConfig& config, const ReproduceOptions& options);
// The student project: its networks, batch sizes and sizes of the predictor's output, with controls
// -> term-project.md, .json, .csv, and pictures: Figs. 4, 5 and 9 of its networks, Fig. 8.
Reproduced reproduce_term_project(const config::RunConfig& config, const ReproduceOptions& options);
// The open questions of a review: reads what the other commands wrote beside this folder and asks
// the simulators; trains nothing -> review.md, review.json.
Reproduced reproduce_review(const config::RunConfig& config, const ReproduceOptions& options);

// Their runs; a unit is a network with one seed.
std::vector<Job> table1_list(const config::RunConfig& config, const ReproduceOptions& options);
std::vector<Job> figures_list(const config::RunConfig& config, const ReproduceOptions& options);
std::vector<Job> term_project_list(const config::RunConfig& config,
                                   const ReproduceOptions& options);

}  // namespace adagp::experiment
