#include "adagp/engine/layers/side_table.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/zoo_tables.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::layers {

SideTable side_table(const Table& full, int64_t side) {
  const nn::ShapeOnlyScope shapes;
  const models::Entry& entry = models::find(full.model);
  const Row& first = full.rows.front();
  models::Options options = usual(entry).options;
  options.form = models::form_for(entry, first.input[1], first.input[2]);
  options.classes = full.rows.back().output[0];
  const auto net = models::build(full.model, options);
  const auto table_of = [&](int64_t height, int64_t width) {
    return block_table(*net, full.model, core::cat(height, "x", width));
  };
  const BlockTable same = table_of(first.input[1], first.input[2]);
  if (same.table.rows != full.rows) {
    throw UsageError(
        "simulate: the table is not that of " + full.model +
        " as adagp builds it, so that its blocks and its sizes with smaller images are "
        "not known; train it and give --run");
  }
  SideTable out{side == 0 ? same.table : table_of(side, side).table, {}};
  for (int64_t block = 0; block <= same.blocks.back(); ++block) {
    out.rows_before.push_back(rows_before(same.blocks, block));
  }
  return out;
}

}  // namespace adagp::layers
