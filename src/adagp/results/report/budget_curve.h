#pragma once
// The control of a comparison by budget: the score of plain backprop as a function of what was
// spent, through runs of several lengths whose learning rate had fully decayed.
//
// Why a fitted curve and why this one. Straight lines between the measured means say exactly what
// was measured, but scores rise concavely, so they pass below backprop wherever it was not
// measured, and every method would gain by that. A polynomial in log(spent) follows a score of
// the form a - b / spent, which measured curves are close to (b about 50 points times epochs), with
// an error of 0.3 points over budgets from 5 to 40 epochs. A polynomial of second degree in 1 /
// sqrt(spent) holds a - b / spent and a - b / sqrt(spent) exactly, and a logarithm over the same
// budgets to 0.1. Two budgets give a line in 1 / sqrt(spent), which is concave in spent.
//
// Where the fit falls with more spending the control is the best score it had for less: who may
// spend more may also stop earlier, and the fit must not weaken the control.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace adagp::report {

// A value with its standard error (NaN: not known).
struct Estimate {
  double value = 0, error = 0;
};

// The runs of one length.
struct BudgetScores {
  double spent = 0;
  std::vector<double> scores;
};

// Score of plain backprop of one batch size by what was spent.
struct Curve {
  int64_t batch = 0;
  std::vector<std::pair<double, double>> points;  // spent, mean score; by rising spent
  int64_t runs = 0;
  std::vector<double> coefficients;  // of powers of u = (1 / sqrt(spent) - centre) / scale
  double centre = 0, scale = 1;
  std::vector<double> inverse;  // (X'X)^-1 of the fit, row by row
  double residual = 0;          // standard deviation of the runs around it; NaN: not known
  double from = 0, to = 0;      // what was measured: beyond it nothing is said
};

// Least squares over the runs, of degree 1 for two budgets and 2 for more; budgets within 2 % of
// each other count as one. Nothing for fewer than two budgets. `pooled`: standard deviation of
// seeds over all that was run, for a fit with fewer than two degrees of freedom left.
std::optional<Curve> fit_curve(int64_t batch, std::vector<BudgetScores> budgets, double pooled);

// A standard deviation that two runs or fewer have given says little: the pooled one stands in for
// it, or at one degree of freedom the greater of both.
double trusted_deviation(double own, int64_t freedom, double pooled);

// The control at `spent`; nothing more than 2 % outside of what was measured.
std::optional<Estimate> control_at(const Curve& curve, double spent);

// Whether the fit falls somewhere between its ends, so that the control is flat there.
bool turns_down(const Curve& curve);

// The best of several controls. At least one must have been measured at `spent`; one that ends
// before counts with its end, because that score is to be had for less. The best of noisy curves
// is a little too high, which is against the methods and not for them.
struct BestControl {
  int64_t batch = 0;
  Estimate score;
};
std::optional<BestControl> best_control_at(const std::vector<Curve>& curves, double spent);

}  // namespace adagp::report
