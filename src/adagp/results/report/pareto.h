#pragma once
// Which of several results are the best compromises.

#include <vector>

namespace adagp::report {

// `values[i]`: what result i has on each axis, more is better on all of them (negate costs). Layer
// 0 is the Pareto front: results that no other matches on every axis and beats on one. Layer 1 is
// the front of the others, and so on. A result with a value that is not finite has layer -1.
std::vector<int> pareto_layers(const std::vector<std::vector<double>>& values);

}  // namespace adagp::report
