// Layer tables at other image sides, for plans of training runs: from the network itself.

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/block_rows.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/zoo_tables.h"
#include "adagp/engine/nn/layer.h"
#include "simulate_runs.h"

namespace adagp::apps {

study::SideTable side_table(const layers::Table& full, int64_t side) {
  const nn::ShapeOnlyScope shapes;
  const models::Entry& entry = models::find(full.model);
  const layers::Row& first = full.rows.front();
  models::Options options = layers::usual(entry).options;
  options.form = models::form_for(entry, first.input[1], first.input[2]);
  options.classes = full.rows.back().output[0];
  const auto net = models::build(full.model, options);
  const auto table_of = [&](int64_t height, int64_t width) {
    return layers::from_model(*net, full.model, core::cat(height, "x", width),
                              layers::Operations::kAll);
  };
  const layers::Table same = table_of(first.input[1], first.input[2]);
  if (same.rows != full.rows) {
    throw UsageError(
        "simulate: the table is not that of " + full.model +
        " as adagp builds it, so that its blocks and its sizes with smaller images are "
        "not known; train it and give --run");
  }
  study::SideTable out{side == 0 ? same : table_of(side, side), {}};
  const std::vector<int64_t> blocks = layers::blocks_of_rows(same, *net);
  for (int64_t block = 0; block <= blocks.back(); ++block) {
    out.rows_before.push_back(layers::rows_before(blocks, block));
  }
  return out;
}

}  // namespace adagp::apps
