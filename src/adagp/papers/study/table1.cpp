#include "adagp/papers/study/table1.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// "vgg13_bn", "VGG-13" -> "vgg13": how people write the same network.
std::string plain_name(const std::string& name) {
  std::string out;
  for (const char c : core::lower(name)) {
    if (c != '-' && c != '_') out += c;
  }
  return out.ends_with("bn") ? out.substr(0, out.size() - 2) : out;
}

size_t paper_index(const std::string& model) {
  for (size_t i = 0; i < kPaperNetworks.size(); ++i) {
    if (model == kPaperNetworks[i].model) return i;
  }
  throw Error("table 1: '" + model + "' is not in the paper");
}

report::Difference difference(const Table1Row& row, const std::string& against) {
  for (const report::PairedRow& pair : row.ours.pairs) {
    if (pair.method == "adagp" && pair.against == against) return pair.points;
  }
  return {0, kNaN, kNaN, kNaN};
}

std::string score_cell(const Table1Row& row, const std::string& method) {
  const auto* found = report::row_of(row.ours, method);
  return found != nullptr ? report::with_spread(found->score_mean, found->score_sd) : "-";
}

std::string points_cell(const report::Difference& d) {
  if (d.n == 0) return "-";
  if (d.n < 2) return report::signed_points(d.mean);
  return core::cat(report::signed_points(d.mean), " [", report::signed_points(d.low), ", ",
                   report::signed_points(d.high), "]");
}

double published_gain(const Table1Row& row) {
  return row.published ? row.published->adagp - row.published->bp : kNaN;
}

double speedup_of(const Table1Row& row) {
  const auto* adagp = report::row_of(row.ours, "adagp");
  return adagp != nullptr ? adagp->speedup : kNaN;
}

double mean_of(const std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  return report::mean(finite);
}

std::string signed_or_dash(double value) {
  return std::isfinite(value) ? report::signed_points(value) : "-";
}

nlohmann::ordered_json difference_json(const report::Difference& d) {
  if (d.n == 0) return nullptr;
  return {{"mean", d.mean}, {"low", d.low}, {"high", d.high}, {"n", d.n}};
}

}  // namespace

std::vector<std::string> paper_networks(const std::string& names) {
  std::vector<std::string> known, out;
  for (const PaperNetwork& network : kPaperNetworks) known.emplace_back(network.model);
  if (core::trim(names).empty() || core::trim(names) == "all") return known;
  for (const std::string& name : parse_names(names, "--networks")) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const std::string& model) {
      return plain_name(model) == plain_name(name);
    });
    if (found == known.end()) {
      throw UsageError("--networks: '" + name + "' is none of the paper's 13" +
                       core::suggestion(name, known));
    }
    if (std::find(out.begin(), out.end(), *found) != out.end()) {
      throw UsageError("--networks: '" + name + "' is given twice");
    }
    out.push_back(*found);
  }
  return out;
}

std::optional<size_t> published_column(const std::string& data, int64_t classes) {
  const bool from_files =
      data == "cifar10" || data == "cifar100" || data == "image-folder" || data == "packed";
  if (!from_files) return std::nullopt;
  if (classes == 10) return 0;
  if (classes == 100) return 1;
  if (classes == 1000) return 2;
  return std::nullopt;
}

Table1 make_table1(const std::vector<Table1Runs>& networks, std::optional<size_t> column) {
  Table1 table;
  if (column) table.data = kPaperInputNames[*column];
  for (const Table1Runs& network : networks) {
    const size_t index = paper_index(network.model);
    Table1Row& row = table.rows.emplace_back();
    row.model = network.model;
    row.name = kPaperNetworks[index].name;
    if (column) row.published = kTable1[index][*column];
    row.ours = report::compare(network.runs);
    row.diverged = network.diverged;
  }
  return table;
}

Table1Means means(const Table1& table) {
  std::vector<double> published, ours, over_skip;
  Table1Means out;
  for (const Table1Row& row : table.rows) {
    published.push_back(published_gain(row));
    ours.push_back(difference(row, "bp").mean);
    over_skip.push_back(difference(row, "skip").mean);
    out.networks += std::isfinite(ours.back()) ? 1 : 0;
  }
  out.published = mean_of(published);
  out.ours = mean_of(ours);
  out.over_skip = mean_of(over_skip);
  return out;
}

std::string explanation(const Table1Row& row) {
  if (!row.diverged.empty()) return "diverged: " + core::join(row.diverged, ", ");
  const report::Difference over_skip = difference(row, "skip");
  if (over_skip.n == 0) return "no run of skip with the seed of adagp";
  if (over_skip.n < report::kEnoughSeeds) {
    return core::cat("n = ", over_skip.n, ": too few seeds, nothing is concluded");
  }
  if (!over_skip.excludes_zero()) return "skip: dropping the GP batches does as well";
  return over_skip.mean > 0 ? "the predicted gradients: above skip"
                            : "predicting costs: below skip";
}

std::string table1_text(const Table1& table, bool markdown) {
  report::Table out({"<network", "paper bp", "paper ADA-GP", "diff.", "our bp", "our adagp",
                     "diff.", "our skip", "adagp - skip", "speed-up", "<what explains it"});
  for (const Table1Row& row : table.rows) {
    const auto& printed = row.published;
    out.add_row({row.name, printed ? core::fixed(printed->bp, 2) : "-",
                 printed ? core::fixed(printed->adagp, 2) : "-",
                 signed_or_dash(published_gain(row)), score_cell(row, "bp"),
                 score_cell(row, "adagp"), points_cell(difference(row, "bp")),
                 score_cell(row, "skip"), points_cell(difference(row, "skip")),
                 report::number_or_dash(speedup_of(row), 2, "x"), explanation(row)});
  }
  const Table1Means mean = means(table);
  out.add_row({"mean", "", "", signed_or_dash(mean.published), "", "", signed_or_dash(mean.ours),
               "", signed_or_dash(mean.over_skip), "",
               core::cat(mean.networks, " networks of ours")});
  const std::string heading = report::heading(table.about, table.conditions);
  std::string text = core::cat("Table 1", table.data.empty() ? "" : ", " + table.data,
                               heading.empty() ? "" : ". Ours: " + heading, "\n\n");
  text += markdown ? out.markdown() : out.console();
  text +=
      "\ntop-1 in percent; ours: ± standard deviation of the seeds, differences paired by seed "
      "with their 95 % t interval. speed-up: measured seconds of bp / of adagp. The paper prints "
      "one number each, without seeds or deviations.\n";
  if (table.data.empty()) text += "These data are not among the paper's: no published figures.\n";
  if (table.runs_open > 0) {
    text += core::cat("\n", table.runs_open, " runs are not done yet; the same command goes on.\n");
  }
  return text;
}

std::string table1_json(const Table1& table) {
  // nlohmann writes NaN as null.
  nlohmann::ordered_json out;
  out["about"] = table.about;
  out["conditions"] = table.conditions.to_json();
  out["published"] = table.data;
  out["runs_open"] = table.runs_open;
  out["networks"] = nlohmann::ordered_json::array();
  for (const Table1Row& row : table.rows) {
    nlohmann::ordered_json one{{"model", row.model}, {"name", row.name}};
    one["published"] = nullptr;
    if (row.published) {
      one["published"] = {{"bp", row.published->bp}, {"adagp", row.published->adagp}};
    }
    one["methods"] = nlohmann::json::parse(report::to_json(row.ours)).at("methods");
    one["adagp_minus_bp"] = difference_json(difference(row, "bp"));
    one["adagp_minus_skip"] = difference_json(difference(row, "skip"));
    one["diverged"] = row.diverged;
    one["explanation"] = explanation(row);
    out["networks"].push_back(one);
  }
  const Table1Means mean = means(table);
  out["mean"] = {{"published", mean.published},
                 {"ours", mean.ours},
                 {"over_skip", mean.over_skip},
                 {"networks", mean.networks}};
  return out.dump(2) + "\n";
}

std::string table1_csv(const Table1& table) {
  report::Table out({"model", "published_bp", "published_adagp", "method", "top1_mean", "top1_sd",
                     "n", "seconds_mean", "speedup"});
  for (const Table1Row& row : table.rows) {
    for (const report::MethodRow& one : row.ours.methods) {
      out.add_row({row.model, row.published ? core::shortest(row.published->bp) : "",
                   row.published ? core::shortest(row.published->adagp) : "", one.method,
                   report::exact_number(one.score_mean), report::exact_number(one.score_sd),
                   core::cat(one.n), report::exact_number(one.seconds_mean),
                   report::exact_number(one.speedup)});
    }
  }
  return out.csv();
}

std::string table1_svg(const Table1& table) {
  report::LineChart chart;
  chart.title = "Table 1: points above backprop";
  chart.x_title = "network, in the order of the table (names in the tips)";
  chart.y_title = "points";
  chart.from_zero = false;
  report::LineSeries published{"ADA-GP, paper", {}, report::Stroke::kNone, 1, 0};
  report::LineSeries ours{"ADA-GP, ours", {}, report::Stroke::kNone, 2, 1};
  report::LineSeries skip{"skip, ours", {}, report::Stroke::kNone, 3, 2};
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Table1Row& row = table.rows[i];
    const auto x = static_cast<double>(i + 1);
    const auto add = [&](report::LineSeries& series, double value) {
      if (!std::isfinite(value)) return;
      series.points.emplace_back(x, value);
      series.labels.push_back(row.name);
    };
    add(published, published_gain(row));
    add(ours, difference(row, "bp").mean);
    for (const report::PairedRow& pair : row.ours.pairs) {
      if (pair.method == "skip" && pair.against == "bp") add(skip, pair.points.mean);
    }
  }
  for (const auto& series : {published, ours, skip}) {
    if (!series.points.empty()) chart.series.push_back(series);
  }
  return chart.series.empty() ? "" : svg(chart);
}

}  // namespace adagp::study
