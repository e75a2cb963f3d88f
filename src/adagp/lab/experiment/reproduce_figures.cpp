#include "adagp/lab/experiment/reproduce_figures.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/progress.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/train/build.h"
#include "adagp/lab/experiment/reproduce.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/lab/experiment/run_record.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/review.h"
#include "adagp/papers/study/table1.h"
#include "adagp/results/report/probe_report.h"

namespace adagp::experiment {
namespace {

// What the paper says of Fig. 15.
constexpr const char* kFigure15 =
    "The paper prints for VGG13 a MAPE under 0.16 % in layers 2 to 10, 0.56 falling to 0.31 % in "
    "layer 1, and an MSE of at most 5e-4; it prints neither the size of the gradients nor a "
    "cosine.";

study::PaperResult simulated_figures() {
  core::Progress progress;
  return study::compare_with_paper({}, [&](size_t done, size_t all) {
    progress.show(core::cat("paper: ", done, " of ", all),
                  static_cast<double>(done) / static_cast<double>(all));
  });
}

// Fig. 15 of one run.
struct Figure15 {
  std::string name, about;
  std::vector<report::EpochHistory> history;
};

std::vector<std::string> figures_networks(const ReproduceOptions& options) {
  return study::paper_networks(options.networks.empty() ? "vgg13" : options.networks);
}

std::string figures_text(const std::vector<Figure15>& trained, const study::PaperResult& simulated,
                         size_t open, bool markdown) {
  std::string text;
  for (const Figure15& one : trained) {
    text += core::cat("Fig. 15, ", one.name, ", ", one.about,
                      ": error of the predicted gradients by layer, first -> last probe\n\n",
                      report::probe_table(one.history, markdown), "\n",
                      report::probe_note(one.history), "\n\n");
  }
  text += core::cat(kFigure15, "\n\n");
  if (open > 0) {
    text += core::cat(open, open == 1 ? " run is" : " runs are",
                      " not done yet; the same command goes on.\n\n");
  }
  const std::string rest = study::paper_text(simulated, false);
  return text + "Figs. 16 to 21 and the tables of the simulators\n\n" +
         (markdown ? "```\n" + rest + "```\n" : rest);
}

}  // namespace

std::vector<std::string> write_run_figures(const core::fs::path& run, const core::fs::path& folder,
                                           const RunPictures& pictures) {
  if (!core::fs::exists(run / "summary.json")) return {};
  const auto history = report::read_history(run / "metrics.jsonl");
  std::vector<std::string> files;
  for (const auto& charts :
       {report::probe_charts(history, pictures.probes, pictures.probes_title),
        report::loss_charts(history, pictures.losses, pictures.losses_title)}) {
    for (const auto& [name, chart] : charts) {
      files.push_back(name + ".svg");
      core::write_file(folder / files.back(), report::svg(chart));
    }
  }
  return files;
}

std::vector<Job> figures_list(const config::RunConfig& config, const ReproduceOptions& options) {
  std::vector<Job> jobs;
  for (const std::string& model : figures_networks(options)) {
    Job& job = jobs.emplace_back(Job{core::cat(model, ", adagp, seed ", config.seed), config,
                                     core::cat(model, "-adagp-seed", config.seed)});
    job.config.model.name = model;
    job.config.method = "adagp";
    job.unit = core::cat(model, "-seed", config.seed);
    train::check_names(job.config);
  }
  return jobs;
}

Reproduced reproduce_figures(const config::RunConfig& config, const ReproduceOptions& options) {
  const std::vector<Job> jobs = figures_list(config, options);
  core::make_folder(options.folder);
  std::vector<Figure15> trained;
  std::vector<std::string> files{"figures.md"};
  TaskCache tasks;
  check_new_networks(jobs, tasks, options.folder);
  const RunListOptions all{options.folder, options.overwrite, true};
  SharedList shared = join_list("reproduce paper-figures", jobs, tasks, all, options.sharing);
  const size_t open = run_list(jobs, tasks, shared, all, [&](size_t i, const JobResult& result) {
    if (!result.summary) return;
    const core::fs::path run = options.folder / jobs[i].folder;
    const std::string& model = jobs[i].config.model.name;
    trained.push_back(
        {model, about_training(*result.summary), report::read_history(run / "metrics.jsonl")});
    const std::string prefix = "fig15-" + model;
    const std::string title = "Fig. 15: the predictor on " + model;
    const auto drawn = write_run_figures(run, options.folder, {prefix, title, prefix, title});
    files.insert(files.end(), drawn.begin(), drawn.end());
    core::write_file(options.folder / ("fig15-" + model + ".json"),
                     report::probe_json(trained.back().history));
    files.push_back("fig15-" + model + ".json");
  });
  const study::PaperResult simulated = simulated_figures();
  for (const auto& [name, chart] : study::paper_charts(simulated)) {
    core::write_file(options.folder / name, report::svg(chart));
    files.push_back(name);
  }
  core::write_file(options.folder / "figures.md", figures_text(trained, simulated, open, true));
  nlohmann::ordered_json json;
  json["runs_open"] = open;
  json["fig15"] = nlohmann::ordered_json::object();
  for (const Figure15& one : trained) {
    json["fig15"][one.name] = nlohmann::json::parse(report::probe_json(one.history));
  }
  json["simulated"] = nlohmann::json::parse(study::paper_json(simulated));
  return {figures_text(trained, simulated, open, false), json.dump(2) + "\n", files, open};
}

Reproduced reproduce_review(const config::RunConfig&, const ReproduceOptions& options) {
  const core::fs::path here = core::fs::absolute(options.folder).lexically_normal();
  const core::fs::path results = (here.has_filename() ? here : here.parent_path()).parent_path();
  const auto answers = study::answer_review(results, simulated_figures());
  core::make_folder(options.folder);
  core::write_file(options.folder / "review.md", study::review_text(answers, true));
  core::write_file(options.folder / "review.json", study::review_json(answers));
  return {study::review_text(answers, false),
          study::review_json(answers),
          {"review.md", "review.json"},
          0};
}

}  // namespace adagp::experiment
