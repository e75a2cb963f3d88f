#include "adagp/engine/method/method.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"

namespace adagp::method {

const plan::BatchPlan& Method::batch_plan() const {
  static const plan::BatchPlan usual;
  return usual;
}

double Method::cost(const step::Session& s, const Costs& costs, const plan::BatchContext&,
                    int64_t examples) const {
  return costs.backprop(0, s.first_block) * static_cast<double>(examples);
}

const at::Tensor& saved(const std::map<std::string, at::Tensor>& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw DataError("method state: '" + name + "' is missing");
  return found->second;
}

void require_alone(const step::Session& s) {
  if (s.team->solo()) return;
  throw UsageError("method " + s.config.method + " trains in one process; leave out --parallel");
}

void require_whole_network(const step::Session& s) {
  if (!s.team->splits_layers()) return;
  throw UsageError("method " + s.config.method +
                   " changes batches or frozen blocks as the run goes on, and the stages of a "
                   "pipeline are made for batches of one kind; use --parallel data without "
                   "pipeline=, or leave out --parallel");
}

void require_losses(const step::Session& s) {
  if (s.task->plans_epochs()) return;
  throw UsageError("method " + s.config.method + " chooses by the loss of each example, and " +
                   models::task_name(s.task->kind()) + " has none; use it for classification");
}

int64_t checked_blocks(const step::Session& s, int64_t blocks, const std::string& key) {
  const auto* net = dynamic_cast<const models::BlockNet*>(s.net.get());
  if (net == nullptr) {
    throw UsageError("method " + s.config.method + " needs a network made of blocks, and " +
                     s.config.model.name + " is none");
  }
  require_whole_network(s);
  const auto most = static_cast<int64_t>(net->blocks().size()) - 1;
  if (blocks >= 0 && blocks <= most) return blocks;
  throw UsageError(core::cat(key, ": ", blocks, ", expected 0 to ", most, ": ", s.config.model.name,
                             " has ", most + 1, " blocks and the last one is always trained"));
}

}  // namespace adagp::method
