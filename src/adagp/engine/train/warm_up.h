#pragma once
// What a GPU does only once is done before the clock of a run starts.

#include <string>

#include "adagp/engine/task/network.h"

namespace adagp::train {

// Lets the libraries of a GPU choose their algorithms: a few steps of each shape, once in a process
// for a network that `config` names. `known`: `config` names the network (false: it is the caller's
// own). Random numbers are disturbed, so call it before they are seeded. Nothing on a CPU, or where
// nothing is chosen (--deterministic).
void warm_up(const config::RunConfig& config, const task::TaskPtr& task,
             const task::NetMaker& make_net, bool known = true);

// Runs with equal keys have the same steps of the same shapes, so that the second needs no warm-up.
// Every key of the configuration counts but those that are known to change numbers alone.
std::string warm_up_key(const config::RunConfig& config, const std::string& device,
                        const std::string& input);

}  // namespace adagp::train
