#pragma once
// What steps cost, counted in multiplications from the layer table: the account that does not
// depend on how well a machine is used.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/task/task.h"
#include "adagp/sim/layers/table.h"

namespace adagp::method {

class Costs {
 public:
  // Throws UsageError when the network cannot take images of one of the `sides`. A network without
  // a shape-only path has no account: all costs are NaN.
  Costs(models::Net& net, const task::Task& task, const config::RunConfig& config,
        const std::vector<int64_t>& sides = {});

  // Of one example, in multiplications. `side`: of its images; 0: as the data is.
  double forward(int64_t side = 0) const;
  // Gradients of the blocks from `first` on: every weight's, and every activation's that leads to
  // one.
  double backward(int64_t side = 0, int64_t first = 0) const;
  // Of the blocks first .. last - 1 alone. Their backward pass makes no gradient of their input.
  double forward_of(int64_t first, int64_t last) const;
  double backward_of(int64_t first, int64_t last) const;
  double backprop(int64_t side = 0, int64_t first = 0) const {
    return forward(side) + backward(side, first);
  }

  // The tables of all operations that these are counted from, by side; empty: no account.
  const std::map<int64_t, layers::Table>& tables() const { return tables_; }
  // Rows of such a table that belong to the blocks before `block`.
  int64_t rows_before(int64_t block) const { return layers::rows_before(blocks_of_rows_, block); }

 private:
  double backward_between(int64_t side, int64_t first, int64_t last) const;

  struct Product {
    int64_t block = 0;
    double macs = 0;
    bool again = false;   // run once more by the backward pass
    bool frozen = false;  // without gradients
  };
  std::map<int64_t, std::vector<Product>> products_;  // by side, in the order they run
  std::map<int64_t, layers::Table> tables_;
  std::vector<int64_t> blocks_of_rows_;
};

}  // namespace adagp::method
