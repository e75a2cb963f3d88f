#pragma once
// Seconds to the score that plain backprop of given lengths reaches.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/results/report/budget.h"

namespace adagp::report {

// For every method and batch size of `rows`, in their order. Targets that are not among the rows
// are left out and named in `notes`.
std::vector<TargetRow> time_to_targets(const std::vector<BudgetRow>& rows, int64_t batch,
                                       const std::vector<int64_t>& target_epochs,
                                       std::vector<std::string>& notes);

}  // namespace adagp::report
