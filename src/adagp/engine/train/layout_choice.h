#pragma once
// cpu.convolution: in which memory layout the convolutions of a run are computed.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adagp/engine/method/method.h"
#include "adagp/engine/run/layout_record.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/task/network.h"

namespace adagp::train {

// The convolutions of a network by name, in the order they run. `side`: of its images; 0: as the
// data is. Empty, after one warning, for a network without a shape-only path.
std::vector<std::pair<std::string, nn::ConvolutionShape>> convolutions_of(
    models::Net& net, const config::RunConfig& config, const task::Task& task, int64_t side = 0);

// Examples that one process works on at once, by the side of the images (0: as the data is).
using BatchSizes = std::map<int64_t, int64_t>;

// In a run of one process.
int64_t examples_at_once(const config::RunConfig& config);

// Every shape of the network, from this machine's cache or measured now. Measured ones are added to
// the cache. Throws Interrupted after a signal, with what was measured until then in the cache.
run::LayoutRecord measured_layouts(models::Net& net, const config::RunConfig& config,
                                   const task::Task& task, const BatchSizes& sizes);

// Whether the key and the device leave anything to be chosen. On a GPU a key that is set gives one
// warning.
bool chooses_layouts(const config::RunConfig& config);

// Gives the session's network its layouts: those of the run folder where it has them, else measured
// by the leader. Throws DataError for a run that began with a table which is gone.
void use_layouts(step::Session& session, const method::Method& method,
                 const run::RunFolder* folder);

// Networks for measurements, with the layouts that a run of `config` would have.
task::NetMaker with_layouts(const config::RunConfig& config, const task::TaskPtr& task,
                            const task::NetMaker& make_net);

}  // namespace adagp::train
