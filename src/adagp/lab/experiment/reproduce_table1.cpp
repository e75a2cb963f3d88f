#include "adagp/base/core/text.h"
#include "adagp/engine/train/build.h"
#include "adagp/lab/experiment/reproduce.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/lab/experiment/run_record.h"
#include "adagp/papers/study/table1.h"

namespace adagp::experiment {
namespace {

constexpr const char* kTable1Methods[] = {"bp", "adagp", "skip"};

std::vector<std::string> table1_networks(const ReproduceOptions& options) {
  const bool few = options.quick && options.networks.empty();
  return study::paper_networks(few ? "vgg13,mobilenet_v2" : options.networks);
}

void write_table1(const study::Table1& table, const core::fs::path& folder) {
  core::write_file(folder / "table1.md", study::table1_text(table, true));
  core::write_file(folder / "table1.json", study::table1_json(table));
  core::write_file(folder / "table1.csv", study::table1_csv(table));
  const std::string picture = study::table1_svg(table);
  if (!picture.empty()) core::write_file(folder / "table1.svg", picture);
}

}  // namespace

// All methods of a network before the next, all networks before the next seed: after every network
// the table has a line more.
std::vector<Job> table1_list(const config::RunConfig& config, const ReproduceOptions& options) {
  std::vector<Job> jobs;
  for (const int64_t seed : seeds_from(config.seed, options.seeds)) {
    for (const std::string& model : table1_networks(options)) {
      for (const char* method : kTable1Methods) {
        Job& job = jobs.emplace_back(Job{core::cat(model, ", ", method, ", seed ", seed), config,
                                         core::cat(model, "-", method, "-seed", seed)});
        job.config.model.name = model;
        job.config.method = method;
        job.config.seed = seed;
        job.unit = core::cat(model, "-seed", seed);
        train::check_names(job.config);
      }
    }
  }
  return jobs;
}

Reproduced reproduce_table1(const config::RunConfig& config, const ReproduceOptions& options) {
  const std::vector<Job> jobs = table1_list(config, options);
  core::make_folder(options.folder);
  TaskCache tasks;
  config::RunConfig resolved = jobs.front().config;
  tasks.open(resolved)->resolve(resolved);
  const auto column = study::published_column(config.data.name, resolved.model.classes);

  std::vector<study::Table1Runs> networks;
  for (const std::string& model : table1_networks(options)) networks.push_back({model, {}, {}});
  std::string about;
  report::Conditions conditions;
  const auto table = [&](size_t open) {
    study::Table1 out = study::make_table1(networks, column);
    out.about = about;
    out.conditions = conditions;
    out.runs_open = open;
    return out;
  };
  check_new_networks(jobs, tasks, options.folder);
  size_t done = 0;
  const RunListOptions all{options.folder, options.overwrite, true};
  SharedList shared = join_list("reproduce paper-table1", jobs, tasks, all, options.sharing);
  const size_t open = run_list(jobs, tasks, shared, all, [&](size_t i, const JobResult& result) {
    const Job& job = jobs[i];
    for (study::Table1Runs& network : networks) {
      if (network.model != job.config.model.name) continue;
      if (!result.summary) {
        network.diverged.push_back(core::cat(job.config.method, " seed ", job.config.seed));
        continue;
      }
      network.runs.push_back(record_of(*result.summary, options.folder / job.folder));
      about = about_training(*result.summary);
      conditions = result.summary->conditions;
    }
    ++done;
    if (!result.reused) write_table1(table(jobs.size() - done), options.folder);
  });
  const study::Table1 whole = table(open);
  write_table1(whole, options.folder);
  return {study::table1_text(whole, false),
          study::table1_json(whole),
          {"table1.md", "table1.json", "table1.csv", "table1.svg"},
          open};
}

}  // namespace adagp::experiment
