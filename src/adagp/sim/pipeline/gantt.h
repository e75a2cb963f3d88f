#pragma once
// What the devices did when, as text: a line per device, a column per step.

#include <string>
#include <vector>

#include "adagp/sim/pipeline/cluster.h"

namespace adagp::pipeline {

// "F0": forward of micro-batch 0; G: forward of a GP batch; B: backward; I, W: input and weight
// gradient (small letters: of a low-resolution batch); P: predict-update; O: optimizer. Ops that
// take no time have no column. A step is the shortest op, or longer where there would be more than
// 240 columns.
std::string gantt_text(const std::vector<Event>& events, int devices);
char gantt_letter(const Op& op);

}  // namespace adagp::pipeline
