#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/schedule/schedule.h"
#include "adagp/engine/train/build.h"
#include "adagp/lab/experiment/reproduce.h"
#include "adagp/lab/experiment/reproduce_figures.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/lab/experiment/run_record.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/papers/study/term_project.h"
#include "adagp/results/report/run_files.h"

namespace adagp::experiment {
namespace {

constexpr int64_t kUsualBatch = 32;  // of their rate

// The rows of the three tables. A run may stand in several.
struct TermRows {
  std::vector<study::TermRuns> networks, batches, outputs;
};

// A run and the rows it stands in, with its name there: `bp` of one row is `bp, scaled rate` of
// another.
struct TermJob {
  Job job;
  std::vector<std::pair<study::TermRuns*, std::string>> rows;
};

std::vector<std::string> term_networks(const ReproduceOptions& options) {
  std::vector<std::string> known;
  for (const auto& network : study::kTermProjectNetworks) known.emplace_back(network.model);
  if (options.networks.empty()) return options.quick ? std::vector<std::string>{"vgg11"} : known;
  std::vector<std::string> names = study::parse_names(options.networks, "--networks");
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UsageError("--networks: '" + name + "' is none of the term project's" +
                     core::suggestion(name, known));
  }
  return names;
}

TermRows term_rows(const config::RunConfig& config, const ReproduceOptions& options) {
  TermRows rows;
  const std::vector<std::string> names = term_networks(options);
  const int64_t outputs = config.predictor.remap_outputs;
  for (const std::string& name : names) {
    rows.networks.push_back({name, config.batch, outputs, config.predictor.tail, {}, {}, {}, {}});
  }
  const std::string& studied = names.front();
  for (const auto& one : study::kTermProjectBatches) {
    if (options.quick && one.batch != 32 && one.batch != 128) continue;
    rows.batches.push_back({studied, one.batch, outputs, config.predictor.tail, {}, {}, {}, {}});
  }
  for (const int count : study::kTermProjectOutputs) {
    if (options.quick && count != 1000 && count != 10000) continue;
    rows.outputs.push_back({studied, config.batch, count, "last", {}, {}, {}, {}});
  }
  if (!options.quick)
    rows.outputs.push_back({studied, config.batch, 1000, "cyclic", {}, {}, {}, {}});
  return rows;
}

// How a variant differs from the recipe.
config::RunConfig variant_config(config::RunConfig config, const study::TermRuns& row,
                                 const std::string& variant) {
  config.model.name = row.model;
  config.batch = row.batch;
  config.method = variant;
  if (variant == "adagp") {
    config.predictor.remap_outputs = row.outputs;
    config.predictor.tail = row.tail;
  }
  if (variant == study::kPredictorOnly) {
    config.method = "adagp";
    config.schedule = "bp";
  }
  if (variant == study::kScaledRate) {
    config.method = "bp";
    config.optim.lr *= static_cast<double>(row.batch) / static_cast<double>(kUsualBatch);
  }
  return config;
}

class TermJobs {
 public:
  explicit TermJobs(const config::RunConfig& config) : config_(config) {}

  void add(study::TermRuns& row, const std::vector<std::string>& variants, int64_t seed) {
    for (const std::string& variant : variants) {
      const std::string folder = folder_of(row, variant, seed);
      const auto same = std::find_if(jobs_.begin(), jobs_.end(),
                                     [&](const TermJob& one) { return one.job.folder == folder; });
      if (same != jobs_.end()) {
        same->rows.emplace_back(&row, variant);
        continue;
      }
      Job job{core::cat(row.model, ", ", variant, ", batch ", row.batch, ", seed ", seed),
              variant_config(config_, row, variant), folder};
      job.config.seed = seed;
      job.unit = core::cat(row.model, "-seed", seed);
      if (variant == "equal-time") {
        job.seconds_of = {folder_of(row, "bp", seed), folder_of(row, "adagp", seed)};
      }
      train::check_names(job.config);
      jobs_.push_back({std::move(job), {{&row, variant}}});
    }
  }
  const std::vector<TermJob>& jobs() const { return jobs_; }

 private:
  std::string folder_of(const study::TermRuns& row, const std::string& variant,
                        int64_t seed) const {
    // At the usual batch size the scaled rate is the rate.
    const bool plain = variant == study::kScaledRate && row.batch == kUsualBatch;
    std::string out =
        core::cat(row.model, "-", folder_name(plain ? "bp" : variant), "-b", row.batch);
    if (variant == "adagp") out += core::cat("-out", row.outputs, "-", row.tail);
    return core::cat(out, "-seed", seed);
  }

  const config::RunConfig& config_;
  std::vector<TermJob> jobs_;
};

TermJobs term_jobs(TermRows& rows, const config::RunConfig& config,
                   const ReproduceOptions& options) {
  TermJobs list(config);
  for (const int64_t seed : seeds_from(config.seed, options.seeds)) {
    for (auto& row : rows.networks) {
      list.add(row, {"bp", "adagp", "skip", "zero", "equal-time", study::kPredictorOnly}, seed);
    }
    for (auto& row : rows.batches) list.add(row, {"bp", "adagp", "skip", study::kScaledRate}, seed);
    for (auto& row : rows.outputs) list.add(row, {"adagp"}, seed);
  }
  return list;
}

std::vector<Job> runs_of(const TermJobs& list) {
  std::vector<Job> jobs;
  for (const TermJob& one : list.jobs()) jobs.push_back(one.job);
  return jobs;
}

// Seconds of whole BP and whole GP epochs of an adagp run.
void add_epochs(study::TermRuns& row, const config::RunConfig& config,
                const core::fs::path& folder) {
  const auto schedule = schedule::Schedule::parse(config.schedule, config.epochs);
  constexpr int64_t kBatches = 1000;
  for (const report::EpochHistory& epoch : report::read_history(folder / "metrics.jsonl")) {
    const int64_t predicted = schedule.predicted_batches(epoch.epoch + 1, kBatches) -
                              schedule.predicted_batches(epoch.epoch, kBatches);
    if (predicted == 0) row.bp_epochs.push_back(epoch.seconds);
    if (predicted == kBatches) row.gp_epochs.push_back(epoch.seconds);
  }
}

// Their Fig. 4 has the predictor's error on the VGGs, Fig. 5 on MobileNet-V2, Fig. 9 the losses.
RunPictures term_pictures(const std::string& model) {
  const int probes = model == "mobilenet_v2" ? 5 : 4;
  return {core::cat("fig", probes, "-", model),
          core::cat("Fig. ", probes, " of the term project: the predictor on ", model),
          "fig9-" + model, "Fig. 9 of the term project: losses of " + model};
}

void write_term(const study::TermProject& project, const core::fs::path& folder) {
  core::write_file(folder / "term-project.md", study::term_text(project, true));
  core::write_file(folder / "term-project.json", study::term_json(project));
  core::write_file(folder / "term-project.csv", study::term_csv(project));
}

}  // namespace

std::vector<Job> term_project_list(const config::RunConfig& config,
                                   const ReproduceOptions& options) {
  TermRows rows = term_rows(config, options);
  return runs_of(term_jobs(rows, config, options));
}

Reproduced reproduce_term_project(const config::RunConfig& config,
                                  const ReproduceOptions& options) {
  TermRows rows = term_rows(config, options);
  const TermJobs list = term_jobs(rows, config, options);
  const std::vector<Job> jobs = runs_of(list);
  core::make_folder(options.folder);

  study::TermProject project;
  const auto fill = [&](size_t open) {
    const auto all = [](const std::vector<study::TermRuns>& from) {
      std::vector<study::TermRow> out;
      for (const study::TermRuns& row : from) out.push_back(study::term_row(row));
      return out;
    };
    project.networks = all(rows.networks);
    project.batches = all(rows.batches);
    project.outputs = all(rows.outputs);
    project.runs_open = open;
  };
  std::vector<std::string> files{"term-project.md", "term-project.json", "term-project.csv"};
  TaskCache tasks;
  check_new_networks(jobs, tasks, options.folder);
  size_t done = 0;
  const RunListOptions all{options.folder, options.overwrite, true};
  SharedList shared = join_list("reproduce term-project", jobs, tasks, all, options.sharing);
  const size_t open = run_list(jobs, tasks, shared, all, [&](size_t i, const JobResult& result) {
    const TermJob& one = list.jobs()[i];
    for (const auto& [row, variant] : one.rows) {
      if (result.no_budget) continue;
      if (!result.summary) {
        row->diverged.push_back(core::cat(variant, " seed ", one.job.config.seed));
        continue;
      }
      report::RunRecord record = record_of(*result.summary, options.folder / one.job.folder);
      record.method = variant;
      row->runs.push_back(record);
      if (variant == "adagp") {
        add_epochs(*row, one.job.config, options.folder / one.job.folder);
      }
      // Of the first run, which is the recipe's; tables name what differs from it.
      if (project.about.empty()) project.about = about_training(*result.summary);
      project.conditions = result.summary->conditions;
    }
    ++done;
    if (result.reused) return;
    fill(jobs.size() - done);
    write_term(project, options.folder);
  });
  fill(open);
  write_term(project, options.folder);
  for (const auto& [name, chart] : study::term_charts(project)) {
    core::write_file(options.folder / name, report::svg(chart));
    files.push_back(name);
  }
  for (const study::TermRuns& row : rows.networks) {
    for (const TermJob& one : list.jobs()) {
      const auto& [first, variant] = one.rows.front();
      if (first != &row || variant != "adagp" || one.job.config.seed != config.seed) continue;
      const auto drawn = write_run_figures(options.folder / one.job.folder, options.folder,
                                           term_pictures(row.model));
      files.insert(files.end(), drawn.begin(), drawn.end());
    }
  }
  return {study::term_text(project, false), study::term_json(project), files, open};
}

}  // namespace adagp::experiment
