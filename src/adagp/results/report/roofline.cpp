#include "adagp/results/report/roofline.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/table.h"

namespace adagp::report {
namespace {

std::string time_cell(double value, int digits) {
  return number_or_dash(value, digits);
}

std::string roofline_heading(const Roofline& r) {
  return core::cat(r.device, ", ", r.precision, ": ", core::fixed(r.limits.flops / 1e9, 1),
                   " GFLOP/s (a product ",
                   r.limits.product == "given" ? "as given" : "in " + r.limits.product, "), ",
                   core::fixed(r.limits.bytes / 1e9, 2), " GB/s ",
                   r.limits.given ? "(given, in part or whole)" : "(measured)", "\n");
}

std::string by_kind(const Roofline& r) {
  Table table({"<step", "<kind", "GFLOP", "MB", "limit ms", "measured ms", "share of the limit"});
  const auto row = [&](const std::string& step, const std::string& kind, const KindTotal& k) {
    table.add_row({step, kind, core::fixed(k.flops / 1e9, 3), core::fixed(k.bytes / 1e6, 2),
                   core::fixed(1e3 * k.limit, 3), time_cell(1e3 * k.measured, 3),
                   time_cell(k.limit > 0 ? k.limit / k.measured : kNotMeasured, 3)});
  };
  for (const StepRoofline& step : r.steps) {
    row(name_of(step.step), "all", step.total());
    for (int k = 0; k < kKinds; ++k) {
      const KindTotal& kind = step.kinds[static_cast<size_t>(k)];
      if (kind.bytes == 0 && !(kind.measured > 0)) continue;
      row("", name_of(static_cast<Kind>(k)), kind);
    }
  }
  return table.console();
}

std::string by_network(const std::vector<Roofline>& all) {
  Table table({"<network", "<step", "GFLOP", "MB", "limit ms", "measured ms", "share of the limit",
               "<most of the limit"});
  for (const Roofline& r : all) {
    for (const StepRoofline& step : r.steps) {
      const KindTotal sum = step.total();
      const auto most = std::max_element(
          step.kinds.begin(), step.kinds.end(),
          [](const KindTotal& a, const KindTotal& b) { return a.limit < b.limit; });
      const auto kind = static_cast<Kind>(most - step.kinds.begin());
      table.add_row(
          {r.model, name_of(step.step), core::fixed(sum.flops / 1e9, 2),
           core::fixed(sum.bytes / 1e6, 1), core::fixed(1e3 * sum.limit, 3),
           time_cell(1e3 * sum.measured, 3), time_cell(step.share(), 3),
           core::cat(name_of(kind), " ", core::fixed(100 * most->limit / sum.limit, 0), " %")});
    }
  }
  return table.console();
}

// "0.12 / 0.30"; "-" where the step has no such work.
std::string pair_cell(const KindTotal& kind) {
  if (kind.bytes == 0 && !(kind.measured > 0)) return "-";
  return core::cat(core::fixed(1e3 * kind.limit, 2), " / ", time_cell(1e3 * kind.measured, 2));
}

nlohmann::json json_number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json json_of(const KindTotal& k) {
  return {{"flops", k.flops},
          {"bytes", k.bytes},
          {"limit_ms", 1e3 * k.limit},
          {"measured_ms", json_number(1e3 * k.measured)},
          {"share", json_number(k.limit > 0 ? k.limit / k.measured : kNotMeasured)}};
}

}  // namespace

KindTotal StepRoofline::total() const {
  KindTotal sum;
  for (const KindTotal& kind : kinds) {
    sum.flops += kind.flops;
    sum.bytes += kind.bytes;
    sum.limit += kind.limit;
  }
  sum.measured = measured;
  return sum;
}

StepRoofline at_limit(Step step, const std::vector<Work>& work, const MachineLimits& limits) {
  if (!(limits.flops > 0) || !(limits.bytes > 0)) {
    throw Error("roofline: the machine's rate and bandwidth must be above 0");
  }
  StepRoofline out;
  out.step = step;
  for (const Work& piece : work) {
    KindTotal& kind = out.kinds[static_cast<size_t>(piece.kind)];
    kind.flops += piece.flops;
    kind.bytes += piece.bytes;
    kind.limit += std::max(piece.flops / limits.flops, piece.bytes / limits.bytes);
  }
  return out;
}

std::string roofline_text(const std::vector<Roofline>& all) {
  if (all.empty()) throw Error("roofline: no network");
  const Roofline& first = all.front();
  std::string out =
      roofline_heading(first) + "\n" + (all.size() == 1 ? by_kind(first) : by_network(all));
  std::vector<std::string> missing;
  for (const Roofline& r : all) {
    for (const std::string& what : r.missing) {
      if (std::find(missing.begin(), missing.end(), what) == missing.end()) missing.push_back(what);
    }
  }
  out += "\nnot counted: " + core::join(missing, "; ");
  return out + "\nshares above 1: data that a cache kept from one operation to the next\n";
}

std::string roofline_csv(const std::vector<Roofline>& all) {
  Table table({"network", "input", "batch", "precision", "device", "step", "kind", "flops", "bytes",
               "limit_ms", "measured_ms", "share"});
  for (const Roofline& r : all) {
    const auto row = [&](const StepRoofline& step, const char* kind, const KindTotal& k) {
      table.add_row({r.model, r.input, std::to_string(r.batch), r.precision, r.device,
                     name_of(step.step), kind, exact_number(k.flops), exact_number(k.bytes),
                     exact_number(1e3 * k.limit), exact_number(1e3 * k.measured),
                     exact_number(k.limit > 0 ? k.limit / k.measured : kNotMeasured)});
    };
    for (const StepRoofline& step : r.steps) {
      row(step, "all", step.total());
      for (int k = 0; k < kKinds; ++k) {
        const KindTotal& kind = step.kinds[static_cast<size_t>(k)];
        if (kind.bytes == 0 && !(kind.measured > 0)) continue;
        row(step, name_of(static_cast<Kind>(k)), kind);
      }
    }
  }
  return table.csv();
}

std::string roofline_markdown(const std::vector<Roofline>& all) {
  if (all.empty()) throw Error("roofline: no network");
  std::vector<Column> columns =
      titled({"<network", "<step", "GFLOP", "GB", "limit ms", "measured ms", "share"});
  for (int k = 0; k < kKinds; ++k) columns.push_back({name_of(static_cast<Kind>(k))});
  Table table(columns);
  for (const Roofline& r : all) {
    for (const StepRoofline& step : r.steps) {
      const KindTotal sum = step.total();
      std::vector<std::string> cells{r.model,
                                     name_of(step.step),
                                     core::fixed(sum.flops / 1e9, 1),
                                     core::fixed(sum.bytes / 1e9, 2),
                                     core::fixed(1e3 * sum.limit, 3),
                                     time_cell(1e3 * sum.measured, 3),
                                     time_cell(step.share(), 2)};
      for (const KindTotal& kind : step.kinds) cells.push_back(pair_cell(kind));
      table.add_row(cells);
    }
  }
  const Roofline& first = all.front();
  return core::cat(roofline_heading(first), "Batch ", first.batch, ", input ", first.input,
                   ". Kinds: limit / measured ms.\n\n", table.markdown());
}

nlohmann::json roofline_json(const std::vector<Roofline>& all) {
  nlohmann::json out = nlohmann::json::array();
  for (const Roofline& r : all) {
    nlohmann::json steps = nlohmann::json::object();
    for (const StepRoofline& step : r.steps) {
      nlohmann::json kinds = nlohmann::json::object();
      for (int k = 0; k < kKinds; ++k) {
        const KindTotal& kind = step.kinds[static_cast<size_t>(k)];
        if (kind.bytes == 0 && !(kind.measured > 0)) continue;
        kinds[name_of(static_cast<Kind>(k))] = json_of(kind);
      }
      nlohmann::json whole = json_of(step.total());
      whole["kinds"] = std::move(kinds);
      steps[name_of(step.step)] = std::move(whole);
    }
    out.push_back({{"model", r.model},
                   {"input", r.input},
                   {"batch", r.batch},
                   {"precision", r.precision},
                   {"device", r.device},
                   {"limits",
                    {{"flops_per_second", r.limits.flops},
                     {"product", r.limits.product},
                     {"bytes_per_second", r.limits.bytes},
                     {"given", r.limits.given}}},
                   {"not_counted", r.missing},
                   {"steps", std::move(steps)}});
  }
  return out;
}

BarChart roofline_chart(const std::vector<Roofline>& all) {
  const bool one = all.size() == 1;
  BarChart chart;
  chart.title = one ? "Time at the limit, and measured: " + all.front().model
                    : "Time of a BP step at the limit, and measured";
  chart.y_title = "ms";
  for (int k = 0; k < kKinds; ++k) chart.series.push_back({name_of(static_cast<Kind>(k)), {}});
  for (const Roofline& r : all) {
    for (const StepRoofline& step : r.steps) {
      if (!one && step.step != Step::kBp) continue;
      const std::string name = one ? name_of(step.step) : r.model;
      chart.categories.push_back(name + ": limit");
      chart.categories.push_back("measured");
      for (size_t k = 0; k < step.kinds.size(); ++k) {
        double measured = step.kinds[k].measured;
        // Without times by kind the measured bar is of one piece.
        if (!std::isfinite(measured) && static_cast<Kind>(k) == Kind::kOther) {
          measured = step.measured;
        }
        chart.series[k].values.push_back(1e3 * step.kinds[k].limit);
        chart.series[k].values.push_back(std::isfinite(measured) ? 1e3 * measured : 0);
      }
    }
  }
  return chart;
}

}  // namespace adagp::report
