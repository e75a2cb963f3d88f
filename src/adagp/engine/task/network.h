#pragma once
// The network of a run.

#include <functional>
#include <memory>

#include "adagp/engine/models/build_part.h"
#include "adagp/engine/task/task.h"

namespace adagp::task {

// The network a resolved configuration names: initialised from its seed, or from its weights file,
// but for a head with another number of classes than the file's, which stays initialised.
std::shared_ptr<models::Net> build_net(const config::RunConfig& config, const Task& task);
// The same with the values of the wanted parameters alone (models/build_part.h).
std::shared_ptr<models::Net> build_part(const config::RunConfig& config, const Task& task,
                                        const models::Wanted& wanted);
// The same as shapes alone.
std::shared_ptr<models::Net> build_shapes(const config::RunConfig& config, const Task& task);

// Gives a network for steps that are not part of a run; they change its weights.
using NetMaker = std::function<std::shared_ptr<models::Net>()>;
// The network of a resolved configuration, without its weights file.
NetMaker throw_away_nets(const config::RunConfig& config, const TaskPtr& task);

}  // namespace adagp::task
