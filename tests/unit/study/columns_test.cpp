#include "adagp/papers/study/output.h"

#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>
#include <stdexcept>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/pipeline.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

Options small_sweep() {
  Options options;
  options.models = "resnet8";
  options.inputs = "cifar";
  options.arrays = "4..12:4";
  options.dataflows = "ws,os";
  return options;
}

std::string cell(const Column& column, size_t row) {
  if (const auto* texts = std::get_if<Texts>(&column.data)) {
    return texts->values.at(static_cast<size_t>(texts->codes.at(row)));
  }
  if (const auto* counts = std::get_if<std::vector<int64_t>>(&column.data)) {
    return std::to_string(counts->at(row));
  }
  const double value = std::get<std::vector<double>>(column.data).at(row);
  return std::isnan(value) ? "" : core::shortest(value);  // what a design does not have
}

TEST(Columns, HoldWhatTheCsvHolds) {
  Study study = make_study(small_sweep());
  run(study, 1);
  const auto rows = all_rows(study);
  std::string text;
  write_csv(study, rows, [&](const std::string& part) { text += part; });
  const auto lines = core::split(core::trim(text), '\n');
  const auto titles = core::split(lines[0], ',');
  ASSERT_EQ(lines.size(), rows.size() + 1);
  size_t compared = 0;
  for (const Column& column : columns(study, rows)) {
    const auto at = std::find(titles.begin(), titles.end(), column.name);
    if (at == titles.end()) continue;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto cells = core::split(lines[i + 1], ',');
      EXPECT_EQ(cell(column, i), cells.at(static_cast<size_t>(at - titles.begin()))) << column.name;
    }
    ++compared;
  }
  EXPECT_EQ(compared, titles.size());
}

TEST(Study, TablesInMemoryAreSimulatedAsNetworks) {
  Options named = small_sweep(), given = small_sweep();
  given.models.clear();
  given.tables = {zoo::layer_table("resnet8", "cifar")};
  std::string texts[2];
  for (const Options* options : {&named, &given}) {
    Study study = make_study(*options);
    run(study, 1);
    write_csv(study, all_rows(study),
              [&](const std::string& part) { texts[options == &given] += part; });
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Study, AnExceptionOfTheCallerEndsIt) {
  struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  Options options = small_sweep();
  options.arrays = "1..50x1..50";
  EXPECT_THROW(make_study(options, [] { throw Stop("while it is made"); }), Stop);
  Study study = make_study(options);
  EXPECT_THROW(run(study, 2, [](size_t) { throw Stop("while it runs"); }), Stop);
  PipelineOptions pipes;
  pipes.stages = "2..8";
  EXPECT_THROW(run_pipelines(pipes, [](size_t, size_t) { throw Stop("between two"); }), Stop);
}

}  // namespace
}  // namespace adagp::study
