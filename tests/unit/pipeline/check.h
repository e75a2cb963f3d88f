#pragma once
// Whether op lists can be executed: every op once and after what it needs, every send with its
// receive, no deadlock (sends never block, receives and all-reduces do), activations within the
// schedule's bound.

#include <string>
#include <vector>

#include "adagp/sim/pipeline/schedules.h"

namespace adagp::pipeline {

// What is wrong, a sentence each, at most 20; empty: executable.
std::vector<std::string> problems(const OpLists& op_lists);
// Throws Error with them.
void check(const OpLists& op_lists);

}  // namespace adagp::pipeline
