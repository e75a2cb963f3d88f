#pragma once
// A student reproduction of the paper (a term project) beside the same runs done here, timed at one
// resolution, with controls; and what is wrong with the published numbers, by their own arithmetic.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "adagp/papers/study/published.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/compare.h"

namespace adagp::study {

// Names of the variants, which are the methods of the records. predictor-only: backprop that also
// trains the predictor, in every epoch; scaled: backprop at the rate times batch / 32.
inline constexpr const char* kPredictorOnly = "predictor-only";
inline constexpr const char* kScaledRate = "bp, scaled rate";

// Runs that share network, batch size and size of the predictor's output.
struct TermRuns {
  std::string model;
  int64_t batch = 32, outputs = 10000;
  std::string tail = "last";
  std::vector<report::RunRecord> runs;
  std::vector<double> bp_epochs, gp_epochs;  // seconds of adagp's epochs
  std::vector<std::string> diverged;
};

struct TermRow {
  TermRuns what;
  report::Comparison ours;
  double bp_epoch = 0, gp_epoch = 0;  // mean seconds; NaN: none
};

struct TermProject {
  std::string about;
  report::Conditions conditions;
  std::vector<TermRow> networks;  // Tables I and II
  std::vector<TermRow> batches;   // Table III
  std::vector<TermRow> outputs;   // Fig. 8
  size_t runs_open = 0;
};

TermRow term_row(const TermRuns& runs);

// How many times longer their method takes than backprop of 20 epochs at 32x32, where a GP epoch of
// their code is a plain epoch of backprop.
double term_slowdown(const TermProjectBatch& published);
// Correlation of batch size and accuracy over Table III; they print -0.998.
double term_batch_correlation();
// Their formula: t_o e / (t_bp e_bp + t_gp e_gp).
double term_formula(double epoch, double bp_epoch, double gp_epoch, int64_t bp_epochs,
                    int64_t gp_epochs);

std::string term_text(const TermProject& project, bool markdown);
std::string term_json(const TermProject& project);
std::string term_csv(const TermProject& project);
// "fig8-MODEL.svg": accuracy against the size of the predictor's output. None if all runs diverged.
std::vector<std::pair<std::string, report::LineChart>> term_charts(const TermProject& project);

}  // namespace adagp::study
