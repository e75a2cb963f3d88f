#include "adagp/sim/layers/table_gpt.h"

#include <gtest/gtest.h>

#include <map>

namespace adagp::layers {
namespace {

// With the last number of the published weights' files (Hugging Face: gpt2, -medium, -large, -xl);
// GPT-3's "175 billion" to the published digits.
TEST(GptTable, HasThePublishedNumberOfParameters) {
  const std::map<std::string, int64_t> published = {{"gpt2", 124'439'808},
                                                    {"gpt2_medium", 354'823'168},
                                                    {"gpt2_large", 774'030'080},
                                                    {"gpt2_xl", 1'557'611'200}};
  for (const GptSizes& sizes : gpt_sizes()) {
    int64_t parameters = 0;
    for (const Row& row : gpt_table(sizes).rows) parameters += row.weights + row.bias;
    const auto found = published.find(sizes.name);
    if (found != published.end()) {
      EXPECT_EQ(parameters, found->second) << sizes.name;
    } else {
      EXPECT_NEAR(static_cast<double>(parameters), 175e9, 0.5e9) << sizes.name;
    }
  }
}

TEST(GptTable, HasTheMacsOfItsFormulaAndIsATableLikeOthers) {
  for (const GptSizes& s : gpt_sizes()) {
    const Table table = gpt_table(s);
    EXPECT_EQ(total_macs(table),
              s.tokens * (12 * s.layers * s.width * s.width + s.words * s.width) +
                  2 * s.layers * s.tokens * s.tokens * s.width)
        << s.name;
    // Reading checks names, shapes and sizes.
    EXPECT_EQ(to_csv(from_csv(to_csv(table), s.name)), to_csv(table));
  }
}

}  // namespace
}  // namespace adagp::layers
