#pragma once
// Table 1 of the paper beside ours: backprop, ADA-GP, and ADA-GP's schedule with its GP batches
// dropped.

#include <optional>
#include <string>
#include <vector>

#include "adagp/papers/study/published.h"
#include "adagp/results/report/compare.h"

namespace adagp::study {

// Runs of one network; their methods are bp, adagp and skip.
struct Table1Runs {
  std::string model;
  std::vector<report::RunRecord> runs;
  std::vector<std::string> diverged;  // methods with their seeds
};

struct Table1Row {
  std::string model, name;  // ours and the paper's
  std::optional<PublishedAccuracy> published;
  report::Comparison ours;
  std::vector<std::string> diverged;
};

struct Table1 {
  std::string about;
  report::Conditions conditions;
  std::string data;  // the published column: "CIFAR-10", or empty
  std::vector<Table1Row> rows;
  size_t runs_open = 0;
};

// "vgg13", "VGG13" and "vgg13_bn" are the same network of the paper. Empty: all 13. Throws
// UsageError.
std::vector<std::string> paper_networks(const std::string& names);

// Which of kPaperInputs data from files are, by their number of classes; nothing for others and for
// generated data.
std::optional<size_t> published_column(const std::string& data, int64_t classes);

// `column`: of kTable1; nothing: no published figures.
Table1 make_table1(const std::vector<Table1Runs>& networks, std::optional<size_t> column);

// Mean over the networks that have both; NaN for none.
struct Table1Means {
  double published = 0;  // ADA-GP - backprop as printed
  double ours = 0;       // the same of our runs
  double over_skip = 0;  // ADA-GP - skip, our runs
  int64_t networks = 0;  // with our runs of both
};
Table1Means means(const Table1& table);

// What the control says about one network.
std::string explanation(const Table1Row& row);

std::string table1_text(const Table1& table, bool markdown);
std::string table1_json(const Table1& table);
std::string table1_csv(const Table1& table);
// Differences by network, published and ours. Empty when there is nothing to draw.
std::string table1_svg(const Table1& table);

}  // namespace adagp::study
