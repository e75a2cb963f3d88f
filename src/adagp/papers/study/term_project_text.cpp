// The term project's tables for people, as JSON and as CSV.

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/term_project.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {
constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// Seeds of a variant that diverged.
int64_t diverged_seeds(const TermRow& row, const std::string& name) {
  return std::count_if(row.what.diverged.begin(), row.what.diverged.end(),
                       [&](const std::string& text) { return text.starts_with(name + " seed "); });
}

std::string variant_score(const TermRow& row, const std::string& name) {
  const auto* found = report::row_of(row.ours, name);
  const int64_t diverged = diverged_seeds(row, name);
  if (found == nullptr) return diverged > 0 ? core::cat(diverged, " diverged") : "-";
  return report::with_spread(found->score_mean, found->score_sd) +
         (diverged > 0 ? core::cat(", ", diverged, " diverged") : "");
}

double variant_seconds(const TermRow& row, const std::string& name) {
  const auto* found = report::row_of(row.ours, name);
  return found != nullptr ? found->seconds_mean : kNoFigure;
}

double measured_speedup(const TermRow& row) {
  const auto* adagp = report::row_of(row.ours, "adagp");
  return adagp != nullptr ? adagp->speedup : kNoFigure;
}

// Their formula with our epochs.
double formula_of(const TermRow& row) {
  const auto count = [](const std::vector<double>& epochs, size_t runs) {
    return static_cast<int64_t>(runs == 0 ? 0 : epochs.size() / runs);
  };
  const auto* adagp = report::row_of(row.ours, "adagp");
  if (adagp == nullptr || report::row_of(row.ours, "bp") == nullptr) return kNoFigure;
  const auto runs = static_cast<size_t>(adagp->n);
  const int64_t bp = count(row.what.bp_epochs, runs), gp = count(row.what.gp_epochs, runs);
  if (bp + gp == 0) return kNoFigure;
  const double epoch = variant_seconds(row, "bp") / static_cast<double>(bp + gp);
  return term_formula(epoch, row.bp_epoch, row.gp_epoch, bp, gp);
}

const TermProjectNetwork* published_network(const std::string& model) {
  for (const TermProjectNetwork& one : kTermProjectNetworks) {
    if (model == one.model) return &one;
  }
  return nullptr;
}

const TermProjectBatch* published_batch(const TermRow& row) {
  for (const TermProjectBatch& one : kTermProjectBatches) {
    if (row.what.batch == one.batch) return &one;
  }
  return nullptr;
}

report::Table network_table(const TermProject& project) {
  report::Table out({"<network", "theirs bp", "theirs ADA-GP", "bp", "adagp", "skip", "zero",
                     "bp, adagp's seconds", "predictor-only", "their speed-up", "measured",
                     "their formula"});
  for (const TermRow& row : project.networks) {
    const TermProjectNetwork* theirs = published_network(row.what.model);
    const auto figure = [&](double value, int digits) { return core::fixed(value, digits); };
    out.add_row({row.what.model, theirs ? figure(theirs->bp, 2) : "-",
                 theirs ? figure(theirs->adagp, 2) : "-", variant_score(row, "bp"),
                 variant_score(row, "adagp"), variant_score(row, "skip"),
                 variant_score(row, "zero"), variant_score(row, "equal-time"),
                 variant_score(row, kPredictorOnly), theirs ? figure(theirs->speedup, 2) : "-",
                 report::number_or_dash(measured_speedup(row), 2, "x"),
                 report::number_or_dash(formula_of(row), 2, "x")});
  }
  return out;
}

report::Table batch_table(const TermProject& project) {
  report::Table out({"batch", "theirs: warm-up s", "GP s", "total s", "top-1", "ours: BP epoch s",
                     "GP epoch s", "adagp s", "bp s", "adagp", "skip", "bp", "bp, scaled rate"});
  for (const TermRow& row : project.batches) {
    const TermProjectBatch* theirs = published_batch(row);
    const auto printed = [&](double TermProjectBatch::*field) {
      return theirs != nullptr ? core::fixed(theirs->*field, 2) : std::string("-");
    };
    out.add_row({core::cat(row.what.batch), printed(&TermProjectBatch::warm_up_epoch),
                 printed(&TermProjectBatch::gp_epoch), printed(&TermProjectBatch::total),
                 printed(&TermProjectBatch::adagp), report::number_or_dash(row.bp_epoch, 2),
                 report::number_or_dash(row.gp_epoch, 2),
                 report::number_or_dash(variant_seconds(row, "adagp"), 1),
                 report::number_or_dash(variant_seconds(row, "bp"), 1), variant_score(row, "adagp"),
                 variant_score(row, "skip"), variant_score(row, "bp"),
                 variant_score(row, kScaledRate)});
  }
  return out;
}

report::Table output_table(const TermProject& project) {
  report::Table out(
      {"predictor's outputs", "<tail", "adagp", "cosine", "BP epoch s", "GP epoch s"});
  for (const TermRow& row : project.outputs) {
    const auto* adagp = report::row_of(row.ours, "adagp");
    out.add_row({core::cat(row.what.outputs), row.what.tail, variant_score(row, "adagp"),
                 report::number_or_dash(adagp != nullptr ? adagp->cosine_mean : kNoFigure, 3),
                 report::number_or_dash(row.bp_epoch, 2), report::number_or_dash(row.gp_epoch, 2)});
  }
  return out;
}

// The three defects, by their numbers and by ours.
std::vector<std::string> defects(const TermProject& project) {
  const TermProjectBatch& usual = kTermProjectBatches[2];
  const TermProjectNetwork& vgg11 = kTermProjectNetworks[0];
  constexpr int kEpochs = kTermProjectBpEpochs + kTermProjectGpEpochs;
  std::vector<std::string> out{
      core::cat("Resolution: the baseline takes ", core::fixed(vgg11.bp_seconds / kEpochs, 0),
                " s an epoch at 224x224 (its public repository, not its report), the method is "
                "timed at 32x32. At 32x32 a GP epoch takes ",
                core::fixed(usual.gp_epoch, 2), " s."),
      core::cat("Backward in GP epochs: the printed code calls backward() in them too, so a GP "
                "epoch is an epoch of plain backprop, and the baseline at 32x32 takes ",
                kEpochs, " x ", core::fixed(usual.gp_epoch, 2), " = ",
                core::fixed(kEpochs * usual.gp_epoch, 0), " s. The method takes ",
                core::fixed(usual.total, 0), " s, ", core::fixed(term_slowdown(usual), 1),
                " times as long (", core::fixed(term_slowdown(kTermProjectBatches[0]), 1),
                " at batch 8, ", core::fixed(term_slowdown(kTermProjectBatches[4]), 1),
                " at 128). The total is computed (8 warm-up epochs and 12 GP epochs), not "
                "measured."),
      "No prediction is applied: the code assigns predictions to the network's direct children "
      "that "
      "have a weight, and VGG's children are containers. What it trained is predictor-only."};
  for (const TermRow& row : project.networks) {
    const double bp = variant_seconds(row, "bp"), only = variant_seconds(row, kPredictorOnly);
    if (!std::isfinite(bp) || !std::isfinite(only)) continue;
    out.push_back(core::cat("Ours, ", row.what.model, " at 32x32: bp ", core::fixed(bp, 1),
                            " s, predictor-only ", core::fixed(only, 1), " s (",
                            core::fixed(only / bp, 2), " times as long), adagp ",
                            report::number_or_dash(variant_seconds(row, "adagp"), 1, " s"), "."));
  }
  out.push_back(core::cat("Batch size: its correlation with the accuracy is ",
                          core::fixed(term_batch_correlation(), 3),
                          " over Table III; the rate is fixed while the number of steps falls. The "
                          "column 'bp, scaled rate' multiplies the rate by batch / 32."));
  return out;
}

nlohmann::ordered_json rows_json(const std::vector<TermRow>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const TermRow& row : rows) {
    nlohmann::ordered_json one{{"model", row.what.model},
                               {"batch", row.what.batch},
                               {"outputs", row.what.outputs},
                               {"tail", row.what.tail}};
    one["methods"] = nlohmann::json::parse(report::to_json(row.ours)).at("methods");
    one["bp_epoch_seconds"] = row.bp_epoch;
    one["gp_epoch_seconds"] = row.gp_epoch;
    one["speedup_measured"] = measured_speedup(row);
    one["speedup_their_formula"] = formula_of(row);
    one["diverged"] = row.what.diverged;
    out.push_back(one);
  }
  return out;
}

}  // namespace

std::string term_text(const TermProject& project, bool markdown) {
  const auto table = [&](const report::Table& one) {
    return markdown ? one.markdown() : one.console();
  };
  const std::string heading = report::heading(project.about, project.conditions);
  std::string text =
      core::cat("The term project beside ours", heading.empty() ? "" : ". Ours: ", heading,
                "\n\nTables I and II: networks\n\n", table(network_table(project)));
  if (!project.batches.empty()) {
    text += core::cat("\nTable III: batch size, ", project.batches.front().what.model, "\n\n",
                      table(batch_table(project)));
  }
  if (!project.outputs.empty()) {
    text += core::cat(
        "\nFig. 8: size of the predictor's output (the figure names no sizes: these "
        "are assumed)\n\n",
        table(output_table(project)));
  }
  text += "\nWhat the published numbers are\n\n";
  for (const std::string& defect : defects(project)) text += "* " + defect + "\n";
  text +=
      "\ntop-1 in percent, ± standard deviation of the seeds; seconds and speed-ups of ours are "
      "measured at 32x32 on one machine.\n";
  if (project.runs_open > 0) {
    text +=
        core::cat("\n", project.runs_open, " runs are not done yet; the same command goes on.\n");
  }
  return text;
}

std::string term_json(const TermProject& project) {
  nlohmann::ordered_json out;
  out["about"] = project.about;
  out["conditions"] = project.conditions.to_json();
  out["runs_open"] = project.runs_open;
  out["networks"] = rows_json(project.networks);
  out["batches"] = rows_json(project.batches);
  out["outputs"] = rows_json(project.outputs);
  out["defects"] = defects(project);
  return out.dump(2) + "\n";
}

std::string term_csv(const TermProject& project) {
  report::Table out({"part", "model", "batch", "outputs", "tail", "method", "top1_mean", "top1_sd",
                     "n", "seconds_mean", "cosine_mean"});
  const auto add = [&](const char* part, const std::vector<TermRow>& rows) {
    for (const TermRow& row : rows) {
      for (const report::MethodRow& one : row.ours.methods) {
        out.add_row({part, row.what.model, core::cat(row.what.batch), core::cat(row.what.outputs),
                     row.what.tail, one.method, report::exact_number(one.score_mean),
                     report::exact_number(one.score_sd), core::cat(one.n),
                     report::exact_number(one.seconds_mean),
                     report::exact_number(one.cosine_mean)});
      }
    }
  };
  add("networks", project.networks);
  add("batches", project.batches);
  add("outputs", project.outputs);
  return out.csv();
}

}  // namespace adagp::study
