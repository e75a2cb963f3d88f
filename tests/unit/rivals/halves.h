#pragma once
// A small network in two modules, as tests of their signals need it.

#include <set>

#include "adagp/engine/layers/stages.h"
#include "unit/train/small.h"

namespace adagp::small {

using Values = std::map<std::string, at::Tensor>;

inline config::RunConfig modules_config(const std::string& signal, int64_t count) {
  config::RunConfig c = small::config("modules");
  c.parts.get<rivals::ModulesOptions>().signal = signal;
  c.parts.get<rivals::ModulesOptions>().count = count;
  return c;
}

inline config::RunConfig plain_modules(const std::string& signal) {
  config::RunConfig c = modules_config(signal, 2);
  c.optim.momentum = 0;
  c.optim.decay = 0;
  c.optim.lr = 0.5;
  return c;
}

struct Halves {
  std::vector<models::Block> lower, upper;
  std::set<std::string> lower_names;
};

inline Halves halves(step::Session& s) {
  auto& net = dynamic_cast<models::BlockNet&>(*s.net);
  const auto stages = layers::cut(net, s.config.model.name, s.task->input_name(s.config), 2);
  const auto middle = net.blocks().begin() + static_cast<std::ptrdiff_t>(stages.first[1]);
  return {{net.blocks().begin(), middle}, {middle, net.blocks().end()}, stages.names[0]};
}

inline at::Tensor run_all(const std::vector<models::Block>& blocks, const at::Tensor& x) {
  models::Tensors values{x};
  for (const auto& block : blocks) values = block.run(values);
  return values.at(0);
}

inline void load(step::Session& s, const Values& values) {
  const at::NoGradGuard no_grad;
  for (auto& item : s.net->named_parameters()) item.value().copy_(values.at(item.key()));
}

}  // namespace adagp::small
