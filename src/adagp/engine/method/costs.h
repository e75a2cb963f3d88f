#pragma once
// What steps cost, counted in multiplications from the layer table: the account that does not
// depend on how well a machine is used.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/task/task.h"

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

 private:
  double backward_between(int64_t side, int64_t first, int64_t last) const;

  struct Product {
    int64_t block = 0;
    double macs = 0;
    bool again = false;   // run once more by the backward pass
    bool frozen = false;  // without gradients
  };
  std::map<int64_t, std::vector<Product>> products_;  // by side, in the order they run
};

}  // namespace adagp::method
