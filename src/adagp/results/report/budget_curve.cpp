#include "adagp/results/report/budget_curve.h"

#include <algorithm>
#include <cmath>

#include "adagp/results/report/stats.h"

namespace adagp::report {
namespace {

constexpr double kTolerance = 1.02;  // two budgets within it are one; so far beyond the ends

double fit_variable(const Curve& curve, double spent) {
  return (1 / std::sqrt(spent) - curve.centre) / curve.scale;
}

std::vector<double> powers_of(double u, size_t count) {
  std::vector<double> out(count, 1);
  for (size_t i = 1; i < count; ++i) out[i] = out[i - 1] * u;
  return out;
}

// Of a symmetric positive definite matrix of at most 3 x 3, by Gauss and Jordan; u within -1..1
// keeps it far from singular, so no pivoting.
std::vector<double> inverse_of(std::vector<double> a, size_t size) {
  std::vector<double> inverse(size * size, 0);
  for (size_t i = 0; i < size; ++i) inverse[i * size + i] = 1;
  for (size_t pivot = 0; pivot < size; ++pivot) {
    const double over = 1 / a[pivot * size + pivot];
    for (size_t j = 0; j < size; ++j) {
      a[pivot * size + j] *= over;
      inverse[pivot * size + j] *= over;
    }
    for (size_t row = 0; row < size; ++row) {
      const double factor = row == pivot ? 0 : a[row * size + pivot];
      for (size_t j = 0; j < size; ++j) {
        a[row * size + j] -= factor * a[pivot * size + j];
        inverse[row * size + j] -= factor * inverse[pivot * size + j];
      }
    }
  }
  return inverse;
}

double fitted(const Curve& curve, double spent) {
  const double u = fit_variable(curve, spent);
  double value = 0;
  for (size_t i = curve.coefficients.size(); i-- > 0;) value = value * u + curve.coefficients[i];
  return value;
}

Estimate estimate_at(const Curve& curve, double spent) {
  const size_t size = curve.coefficients.size();
  const auto v = powers_of(fit_variable(curve, spent), size);
  double leverage = 0;
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) leverage += v[i] * curve.inverse[i * size + j] * v[j];
  }
  return {fitted(curve, spent), curve.residual * std::sqrt(leverage)};
}

// Where a fit of second degree has its top or bottom; nothing for a line or outside (from, until).
std::optional<double> turning_point(const Curve& curve, double until) {
  if (curve.coefficients.size() < 3 || curve.coefficients[2] == 0) return std::nullopt;
  const double u = -curve.coefficients[1] / (2 * curve.coefficients[2]);
  const double root = curve.centre + curve.scale * u;
  if (root <= 0) return std::nullopt;
  const double spent = 1 / (root * root);
  return spent > curve.from && spent < until ? std::optional(spent) : std::nullopt;
}

size_t separate_budgets(const std::vector<BudgetScores>& budgets) {
  size_t count = 0;
  double last = 0;
  for (const BudgetScores& budget : budgets) {
    if (count > 0 && budget.spent <= last * kTolerance) continue;
    last = budget.spent;
    ++count;
  }
  return count;
}

void solve(Curve& curve, const std::vector<BudgetScores>& budgets, size_t size, double pooled) {
  std::vector<double> gram(size * size, 0), moments(size, 0);
  for (const BudgetScores& budget : budgets) {
    const auto v = powers_of(fit_variable(curve, budget.spent), size);
    for (const double score : budget.scores) {
      for (size_t i = 0; i < size; ++i) {
        moments[i] += v[i] * score;
        for (size_t j = 0; j < size; ++j) gram[i * size + j] += v[i] * v[j];
      }
    }
  }
  curve.inverse = inverse_of(gram, size);
  curve.coefficients.assign(size, 0);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      curve.coefficients[i] += curve.inverse[i * size + j] * moments[j];
    }
  }
  double squares = 0;
  for (const BudgetScores& budget : budgets) {
    const double value = fitted(curve, budget.spent);
    for (const double score : budget.scores) squares += (score - value) * (score - value);
  }
  const int64_t freedom = curve.runs - static_cast<int64_t>(size);
  curve.residual =
      trusted_deviation(std::sqrt(squares / static_cast<double>(freedom)), freedom, pooled);
}

}  // namespace

double trusted_deviation(double own, int64_t freedom, double pooled) {
  if (freedom <= 0) return pooled;
  if (freedom >= 2 || !std::isfinite(pooled)) return own;
  return std::max(own, pooled);
}

std::optional<Curve> fit_curve(int64_t batch, std::vector<BudgetScores> budgets, double pooled) {
  std::sort(budgets.begin(), budgets.end(),
            [](const auto& a, const auto& b) { return a.spent < b.spent; });
  const size_t separate = separate_budgets(budgets);
  if (separate < 2) return std::nullopt;
  Curve curve;
  curve.batch = batch;
  for (const BudgetScores& budget : budgets) {
    curve.points.emplace_back(budget.spent, mean(budget.scores));
    curve.runs += static_cast<int64_t>(budget.scores.size());
  }
  curve.from = budgets.front().spent;
  curve.to = budgets.back().spent;
  const double most = 1 / std::sqrt(curve.from), least = 1 / std::sqrt(curve.to);
  curve.centre = (most + least) / 2;
  curve.scale = (most - least) / 2;
  solve(curve, budgets, std::min<size_t>(3, separate), pooled);
  return curve;
}

std::optional<Estimate> control_at(const Curve& curve, double spent) {
  if (!(spent >= curve.from / kTolerance && spent <= curve.to * kTolerance)) return std::nullopt;
  double best = spent;
  const auto consider = [&](double earlier) {
    if (earlier < spent && fitted(curve, earlier) > fitted(curve, best)) best = earlier;
  };
  consider(curve.from);
  if (const auto top = turning_point(curve, spent)) consider(*top);
  return estimate_at(curve, best);
}

bool turns_down(const Curve& curve) {
  const auto turn = turning_point(curve, curve.to);
  const double middle = turn ? *turn : curve.to;
  constexpr double kVisible = 0.005;  // points: less is not seen in two digits
  return fitted(curve, middle) < fitted(curve, curve.from) - kVisible ||
         fitted(curve, curve.to) < fitted(curve, middle) - kVisible;
}

std::optional<BestControl> best_control_at(const std::vector<Curve>& curves, double spent) {
  std::optional<BestControl> best;
  bool measured = false;
  for (const Curve& curve : curves) {
    const auto here = control_at(curve, spent);
    measured = measured || here.has_value();
    const auto score = spent > curve.to && !here ? control_at(curve, curve.to) : here;
    if (score && (!best || score->value > best->score.value)) best = {curve.batch, *score};
  }
  return measured ? best : std::nullopt;
}

}  // namespace adagp::report
