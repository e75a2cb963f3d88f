#pragma once
// Small run folders for the tests of the page.

#include <string>

#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/summary.h"

namespace adagp::page::testing {

struct RunFixture {
  std::string method = "bp", model = "net", data = "toy";
  int64_t seed = 0, epochs = 3;
  double score = 50;
  bool finished = true, probes = false;
  std::string of_epochs = {};  // more of each epoch's record: ",\"examples\":7"
};

inline void write_run(const core::fs::path& folder, const RunFixture& run) {
  core::make_folder(folder);
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true);  // TOML's strings with escapes are JSON's
  };
  core::write_file(folder / "config.toml",
                   core::cat("method = ", quoted(run.method), "\nseed = ", run.seed, "\nepochs = ",
                             run.epochs, "\nbatch = 10\n[model]\nname = ", quoted(run.model),
                             "\n[data]\nname = ", quoted(run.data), "\n"));
  core::write_file(folder / "environment.json", "{\"device\": \"cpu\", \"cores\": 2}\n");
  std::string records;
  for (int64_t e = 0; e < run.epochs; ++e) {
    const double share = static_cast<double>(e + 1) / static_cast<double>(run.epochs);
    if (run.probes) {
      records += core::cat("{\"kind\":\"train\",\"step\":", 10 * e + 5, ",\"probes\":[[",
                           0.5 * share, ",1,1,1,1,1,0.25,0.5]]}\n");
    }
    records += core::cat("{\"kind\":\"epoch\",\"epoch\":", e, ",\"step\":", 10 * (e + 1),
                         ",\"test_top1\":", run.score * share, ",\"test_loss\":", 2 - share,
                         ",\"train_seconds\":", 1.5 * static_cast<double>(e + 1),
                         ",\"cost_epochs\":", e + 1, run.of_epochs, "}\n");
  }
  core::write_file(folder / "metrics.jsonl", records);
  if (!run.finished) return;
  report::Summary summary;
  summary.method = run.method;
  summary.model = run.model;
  summary.data = run.data;
  summary.device = "cpu";
  summary.precision = "fp32";
  summary.seed = run.seed;
  summary.epochs = run.epochs;
  summary.batch = 10;
  summary.task = "classification";
  summary.metric = "top1";
  summary.figures = {{"top1", run.score}};
  summary.best = run.score;
  summary.train_seconds = 1.5 * static_cast<double>(run.epochs);
  summary.eval_seconds = 0.5;
  summary.bp_batches = 10 * run.epochs;
  core::write_file(folder / "summary.json", summary.to_json().dump(2));
}

}  // namespace adagp::page::testing
